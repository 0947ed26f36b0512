import * as z from 'zod';
import { extensionOf } from '../basics/content/file-type.ts';
import { carryOut } from '../changes/carry-out.ts';
import { renamedFileName, requireUntaken } from '../changes/new-name.ts';
import { fileTooLarge } from '../changes/uploaded-file.ts';
import { BrokenImageError, InvalidParametersError } from '../errors/errors.ts';
import { itemShape, optionalTextField } from '../parameters/fields.ts';
import {
  changesNothing,
  type Edit,
  MAX_RESULT_PIXELS,
  type PictureBox,
  type PicturePoint,
  type PictureSize,
  pointAfter,
} from '../pictures/engine.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';

/** Clients compute boxes from a scaled view: an overlap of up to this many pixels is a rounding error. */
const TOLERANCE = 2;

/** Rounds one side of a box to fit the picture. Undefined when it lies outside. */
const fitSide = (start: number, length: number, whole: number) => {
  if (start >= whole || start + length - whole >= TOLERANCE) return undefined;
  const first = Math.min(Math.round(start), whole - 1);
  return { start: first, length: Math.max(1, Math.min(Math.round(length), whole - first)) };
};

/**
 * The box in whole pixels: values are rounded, an overlap of less than 2 pixels is cut off. `box` has a start
 * of at least zero and a size above zero.
 * @throws InvalidParametersError when the box reaches further out of the picture
 */
export const fitCropBox = (seen: PictureSize, box: PictureBox): PictureBox => {
  const across = fitSide(box.x, box.width, seen.width);
  const down = fitSide(box.y, box.height, seen.height);
  if (!across || !down)
    throw new InvalidParametersError(
      `The box must lie inside of the image of ${seen.width}x${seen.height} pixels.`,
    );
  return { x: across.start, y: down.start, width: across.length, height: down.length };
};

// Number format of JSON and JavaScript. Small numbers come with an exponent (`1e-7`); large ones are not
// valid here.
const DECIMAL = /^-?\d+(?:\.\d+)?(?:e-\d+)?$/iu;
const MISSING = 'must be a number';

/** A number, or a string with one: no hexadecimal, no infinity, no blanks. */
export const numberField = z
  .union([z.number(), z.string().regex(DECIMAL, MISSING).transform(Number)], { error: MISSING })
  .refine(Number.isFinite, MISSING);

const wholeSizeField = numberField
  .refine((value) => value > 0, 'must be greater than zero')
  .refine(
    (value) => !Number.isFinite(value) || Number.isSafeInteger(value),
    'must be a whole number of pixels',
  )
  .meta({ sent: { type: 'integer', minimum: 1 } });

/** A size that a client computed; may have decimals. */
const sizeField = numberField
  .refine((value) => value > 0, 'must be greater than zero')
  .meta({ sent: { type: 'number', exclusiveMinimum: 0 } });

/** A coordinate that a client computed; a value that rounds to zero is zero. */
const offsetField = numberField
  .refine((value) => value > -0.5, 'must not be negative')
  .transform((value) => Math.max(0, value))
  .meta({ sent: { type: 'number', minimum: 0 } });

/** Parameters of all edits of a stored image; without `newname` the original is replaced. */
const editedImageShape = {
  ...itemShape,
  newname: optionalTextField.describe('The name for the result. Default: the result replaces the original.'),
};

const imageResultSchema = z.object({
  newPath: z.string().describe('Public URL of the written file.'),
});

const shared = { load: 'pictures', changes: true, result: imageResultSchema } as const;

/** The target path; undefined replaces the original. Rejects the request before anything is read. */
const requireTarget = async (
  context: ActionContext,
  view: SourceView,
  key: string,
  path: SourcePath,
  newname: string | undefined,
): Promise<SourcePath | undefined> => {
  if (newname === undefined || newname.normalize('NFC') === path.name) return undefined;
  const { settings } = view.source;
  const name = renamedFileName(settings, path.name, newname);
  // `a` for `a.png` is a new name that is taken: only the whole name means the original.
  if (name === path.name && settings.saveSameFileNameStrategy === 'replace') return undefined;
  const target = path.parent.child(name);
  view.require(key, target, 'file');
  if (settings.saveSameFileNameStrategy === 'error')
    await requireUntaken(context, view, path.parent, [{ name, sent: name }]);
  return target;
};

/**
 * Edits a stored image: replaces the original, or stores the result under another name in the same folder and
 * format. A replacement that would change nothing is skipped: each encoding costs quality.
 * @throws BrokenImageError (400) for SVG and undecodable content; FileTooLargeError for a result above the
 *   limit of uploads and the size of the original; ChangedMeanwhileError when the image was replaced during
 *   the edit, NotFoundError when it was removed; BusyError; errors of naming and access
 */
export const editImage = async (
  context: ActionContext,
  key: string,
  input: z.output<z.ZodObject<typeof editedImageShape>>,
  plan: (seen: PictureSize) => Edit,
): Promise<z.output<typeof imageResultSchema>> => {
  const { services, signal } = context;
  const view = await context.views.open(input.source);
  const path = input.path.child(input.name);
  const item = await view.find(key, path, 'file');
  if (extensionOf(path.name) === 'svg') throw new BrokenImageError('SVG images cannot be edited this way.');
  const target = await requireTarget(context, view, key, path, input.newname);
  const isOver = target === undefined;
  let version = item.stat;
  const picture = {
    size: item.stat.size,
    open: async () => {
      const read = await item.file.open();
      version = read.stat;
      return read.stream;
    },
  };
  let isUnchanged = false;
  let moved = (point: PicturePoint): PicturePoint | undefined => point;
  const wantedOf = (seen: PictureSize): Edit => {
    const wanted = plan(seen);
    isUnchanged = isOver && changesNothing(wanted, seen);
    moved = (point) => pointAfter(wanted, seen, point);
    return wanted;
  };
  const [stored] = await carryOut(context, {
    type: 'edit',
    open: view,
    key,
    path: target ?? path,
    from: path,
    sent: undefined,
    isOver,
    pointAfter: (point) => moved(point),
    make: (store) => {
      const put = async (bytes: Buffer): Promise<void> => {
        if (isUnchanged) return;
        // Pictures that other programs put here may be larger than uploads, and stay editable.
        const most = Math.max(view.source.settings.maxUploadFileSize, version.size ?? 0);
        if (bytes.length > most) throw fileTooLarge(path.name, most);
        await store({ content: { bytes, version: isOver ? version : undefined } });
      };
      return services.images.edit(picture, wantedOf, put, signal);
    },
  });
  const written = stored === undefined ? item : view.stored(stored.path, stored.stat);
  return { newPath: services.links.toWritten(written) };
};

export const imageResizeAction = defineAction({
  ...shared,
  name: 'imageResize',
  summary: 'Scales an image to a size, and replaces the original or stores another file.',
  parameters: z.object({
    ...editedImageShape,
    box: z
      .object({ w: wholeSizeField, h: wholeSizeField }, 'must hold w and h')
      .refine(({ w, h }) => w * h <= MAX_RESULT_PIXELS, 'must not have more than 100 megapixels'),
  }),
  run: (context, { box: { w: width, h: height }, ...input }) =>
    editImage(context, 'IMAGE_RESIZE', input, () => ({ kind: 'resize', to: { width, height } })),
});

export const imageCropAction = defineAction({
  ...shared,
  name: 'imageCrop',
  summary: 'Crops an image to a box, and replaces the original or stores another file.',
  parameters: z.object({
    ...editedImageShape,
    box: z.object({ x: offsetField, y: offsetField, w: sizeField, h: sizeField }, 'must hold x, y, w and h'),
  }),
  run: (context, { box: { x, y, w: width, h: height }, ...input }) =>
    editImage(context, 'IMAGE_CROP', input, (seen) => ({
      kind: 'crop',
      box: fitCropBox(seen, { x, y, width, height }),
    })),
});

const ANGLES = ['90', '180', '270'] as const;

const angleField = z
  .union([z.number().transform(String), z.string()])
  .pipe(z.enum(ANGLES, 'must be 90, 180 or 270'))
  .transform((angle) => Number(angle) as 90 | 180 | 270)
  .meta({ sent: { type: 'integer', enum: ANGLES.map(Number) } })
  .describe('Clockwise, in degrees.');

/** Rotates or mirrors an image in its displayed orientation. */
export const imageRotateAction = defineAction({
  ...shared,
  name: 'imageRotate',
  // Access rules written before this action existed do not know its key.
  follows: 'IMAGE_RESIZE',
  summary:
    'Rotates an image clockwise, or flips it, or both in this order, and replaces the original or ' +
    'stores another file.',
  parameters: z.object({
    ...editedImageShape,
    angle: angleField.optional(),
    flip: z
      .enum(['horizontal', 'vertical'], 'must be horizontal or vertical')
      .optional()
      .describe('`horizontal`: left and right change sides.'),
  }),
  run: (context, { angle, flip, ...input }) => {
    if (angle === undefined && flip === undefined)
      throw new InvalidParametersError('One of angle and flip must be given.');
    return editImage(context, 'IMAGE_ROTATE', input, () => ({
      kind: 'rotate',
      rotation: { angle: angle ?? 0, flip },
    }));
  },
});
