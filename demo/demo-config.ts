import path from 'node:path';
import type { ConfigInput } from 'stowage';

/** What decides the demo's configuration. */
export interface DemoPlaces {
  readonly dataDir: string;
  /** Every origin under which the page may be opened. */
  readonly origins: readonly string[];
}

/**
 * What visitors may upload: the default list without pages and scripts, which would run on the domain that
 * serves the files.
 */
const extensions = (
  'jpg jpeg png gif webp svg bmp ico avif tif psd ai txt md csv json xml ini pdf rtf doc docx odt xls xlsx ods ppt pptx odp ' +
  'zip rar 7z gz tar mp3 ogg wav mp4 webm mov mkv avi wmv ttf'
).split(' ');

/** What is deleted or edited can be brought back for a month. */
const trash = { retentionDays: 30, keepReplaced: true } as const;

/** Photos of phones lie upright, are not wider than any page, and do not tell where they were taken. */
const uploadImages = {
  autoOrient: true,
  maxWidth: 2560,
  maxHeight: 2560,
  metadata: 'strip-location',
} as const;

/** Pages load of each picture what their screen has room for. */
const imagePresets = {
  small: { width: 480, height: 480, fit: 'inside' },
  medium: { width: 1024, height: 1024, fit: 'inside' },
} as const;

/**
 * Two sources, pictures and documents; the folder `archive` of each shows what a denied action looks like.
 */
export const demoConfig = ({ dataDir, origins }: DemoPlaces): ConfigInput => ({
  allowCrossOrigin: true,
  allowedOrigins: [...origins],
  extensions,
  maxUploadFileSize: '32mb',
  uploadImages,
  imagePresets,
  accessControl: [{ path: '/archive', CHANGE: false }],
  sources: {
    photos: { title: 'Photos', root: path.join(dataDir, 'photos'), serve: 'public', trash },
    documents: { title: 'Documents', root: path.join(dataDir, 'documents'), serve: 'public', trash },
  },
});
