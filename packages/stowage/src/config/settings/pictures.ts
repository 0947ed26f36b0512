import { isAbsolute } from 'node:path';
import * as z from 'zod';
import {
  byteSize,
  count,
  extension,
  global,
  hiddenFolder,
  list,
  positive,
  setting,
  source,
  unused,
  whole,
} from './values.ts';

const uploadImagesSchema = z.strictObject({
  autoOrient: z.boolean().default(true).describe('Turn pictures upright that a camera stored on their side.'),
  maxWidth: whole.min(1).optional().describe('Pixels; larger pictures are scaled down.'),
  maxHeight: whole.min(1).optional().describe('Pixels; larger pictures are scaled down.'),
  metadata: z
    .enum(['keep', 'strip', 'strip-location'])
    .default('keep')
    .describe(
      'The EXIF, XMP, IPTC data and comments to keep: all, none, or all except the GPS position. The ' +
        'colour profile always stays.',
    ),
  format: z
    .enum(['keep', 'webp', 'avif', 'jpeg'])
    .default('keep')
    .describe('Format in which pictures are stored. Their names get its extension.'),
  quality: whole
    .min(1)
    .max(100)
    .optional()
    .describe('Quality of JPEG, WebP and AVIF pictures that are encoded again. Default: 92, 90 and 65.'),
  keepOriginal: z
    .union([z.literal(false), hiddenFolder], 'must be the name of a folder, without a path, or false')
    .default(false)
    .describe('Hidden folder beside the pictures, for the originals of changed pictures.'),
});

const side = whole.min(1).max(4096).optional();

const imagePresetSchema = z
  .strictObject({
    width: side.describe('Pixels.'),
    height: side.describe('Pixels.'),
    fit: z
      .enum(['cover', 'contain', 'inside'])
      .default('inside')
      .describe(
        '`inside`: scaled down to fit; `cover`: exactly this size, with the edges cut off; `contain`: ' +
          'exactly this size, with empty space around.',
      ),
    format: z
      .enum(['jpeg', 'png', 'webp', 'avif'])
      .optional()
      .describe('Default: the format of the picture, or JPEG if it is not JPEG, PNG, GIF or WebP.'),
    quality: whole
      .min(1)
      .max(100)
      .optional()
      .describe('Quality of JPEG, WebP and AVIF. Default: the setting `quality`.'),
  })
  .refine(
    ({ width, height, fit }) =>
      fit === 'inside' ? (width ?? height) !== undefined : width !== undefined && height !== undefined,
    'must have a width and a height (`inside`: one of them)',
  );

/** Presets by name, which is also the name of a folder beside the thumbnails. */
const imagePresetsSchema = z
  .record(
    z.string().regex(/^[0-9A-Za-z-]{1,32}$/u, 'must be of 1 to 32 letters, digits and hyphens'),
    imagePresetSchema,
  )
  .refine((presets) => Object.keys(presets).length <= 20, 'must not be more than 20')
  .default({});

const program = z
  .string()
  .refine(
    (text) => isAbsolute(text) || /^[^\s/\\]+$/u.test(text),
    'must be the name of a program, or its whole path',
  );

const thumbProgramsSchema = z.strictObject({
  pdf: program
    .optional()
    .describe('`pdftoppm` of poppler, or its full path: draws the first page of PDF files.'),
  video: program
    .optional()
    .describe('`ffmpeg`, or its full path: draws a frame of the first seconds of videos.'),
  seconds: whole
    .min(1)
    .max(600)
    .default(20)
    .describe(
      'Maximum time of a program for one file. Then the program is ended, and the file keeps its icon.',
    ),
});

export const picturesSettings = {
  imageExtensions: setting(
    z.array(extension).default(list('jpg png gif jpeg bmp svg ico webp')),
    source('Extensions treated as images: listed with `isImage` true, with thumbnails of their content.'),
  ),
  quality: setting(
    whole.min(1).max(100).default(90),
    source('JPEG and WebP quality of thumbnails, 1 to 100.'),
  ),
  maxImageWidth: setting(positive.default(1900), unused('see `uploadImages.maxWidth`.')),
  maxImageHeight: setting(positive.default(1900), unused('see `uploadImages.maxHeight`.')),
  createThumb: setting(
    z.boolean().default(true),
    source('Create thumbnails while listing. False: no `thumb` fields, no thumbnail folder, no icons.'),
  ),
  thumbSize: setting(
    positive.max(4096).default(250),
    source(
      'Side in pixels of the square that thumbnails fit into. Existing thumbnails keep their size until ' +
        'their image changes.',
    ),
  ),
  thumbFolderName: setting(
    hiddenFolder.default('_thumbs'),
    source(
      'Name of the folder for thumbnails inside each listed folder; no listing shows it and no action ' +
        'reaches it.',
    ),
  ),
  safeThumbsCountInOneTime: setting(
    count.default(20),
    source('Maximum number of new thumbnails that one listing creates.'),
  ),
  generateSvgThumbs: setting(
    z.boolean().default(true),
    source(
      'Draw SVG icons for folders and for files that are not images. False: such items point to the file ' +
        'itself.',
    ),
  ),
  svgThumbWidth: setting(positive.default(100), source('Width of icons, in pixels.')),
  svgThumbHeight: setting(positive.default(100), source('Height of icons, in pixels.')),
  imageMemory: setting(
    byteSize.prefault('512mb'),
    global(
      'Memory for all pictures that are decoded and edited at the same time, as estimated from their ' +
        'headers; the process may use one and a half times as much for them. A picture that alone needs ' +
        'more is rejected (400), or listed with the icon of its extension.',
    ),
  ),
  thumbPlaceholder: setting(
    z.boolean().default(false),
    source(
      'Show the icon of its type for a picture without a thumbnail, while the limit of new thumbnails is ' +
        'used up. False: such items have no `thumb`.',
    ),
  ),
  uploadImages: setting(
    uploadImagesSchema.optional(),
    source(
      'Changes to pictures that are uploaded, saved by an image editor, or come from another source. ' +
        'Default: they are stored byte for byte.',
    ),
  ),
  readTexts: setting(
    z.boolean().default(true),
    source(
      'Read alternative text, title, caption, credit and tags of uploaded pictures from their IPTC, XMP ' +
        'and EXIF data, in this order, but not the GPS position. Independent of `uploadImages.metadata`, ' +
        'which decides what stays in the file.',
    ),
  ),
  imagePresets: setting(
    imagePresetsSchema,
    source(
      'Variants of pictures by name, `{ "card": { "width": 320, "height": 200, "fit": "cover", "format": ' +
        '"webp" } }`. Each variant is created once, stored beside the thumbnails, and returned by ' +
        'imageVariant and `mods[variants]`.',
    ),
  ),
  thumbDensity: setting(
    z.number().min(1).max(4).default(1),
    source(
      'Pixels of a thumbnail for each pixel of `thumbSize`: 2 for sharp thumbnails on high-density ' +
        'screens. Existing thumbnails keep their size until their image changes.',
    ),
  ),
  thumbPrograms: setting(
    thumbProgramsSchema.prefault({}),
    global(
      'Programs that draw thumbnails of PDF files and videos, `{ "pdf": "pdftoppm", "video": "ffmpeg" ' +
        '}`. Without a program such files have icons.',
    ),
  ),
} as const;
