import type { ClientOptions } from '../client/index.ts';
import type { Texts } from './texts.ts';

/** The description of a file, by users or from its metadata. */
export interface About {
  /** Alternative text of a picture. */
  readonly alt?: string | undefined;
  readonly title?: string | undefined;
  readonly caption?: string | undefined;
  readonly credit?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** The focal point of a picture, as fractions of its width and height from the upper left corner. */
  readonly focalPoint?: { readonly x: number; readonly y: number } | undefined;
}

/** A picked or uploaded file, with its properties for a document. */
export interface PickedFile {
  readonly source: string;
  /** Its folder inside the source, without leading and trailing slashes. */
  readonly path: string;
  readonly name: string;
  /** The link for a document: without a host if the connector has the page's origin. */
  readonly url: string;
  readonly isImage: boolean;
  /** Text for the attribute `alt`: that of the file, else from its name, unless a camera chose that. */
  readonly alt: string;
  readonly about?: About | undefined;
  readonly thumb?: string | undefined;
  readonly mime?: string | undefined;
  readonly bytes?: number | undefined;
  /** Displayed size of a picture in pixels. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Smaller variants with the picture's aspect ratio, and the picture itself, in the format of `srcset`. */
  readonly srcset?: string | undefined;
}

/** Options of a picker, and of its connector. */
export interface PickerOptions extends ClientOptions {
  /** Names of the shown sources; default: all. */
  readonly sources?: readonly string[] | undefined;
  /** Shows only pictures. */
  readonly types?: 'image' | undefined;
  /** Whether several files may be picked. */
  readonly several?: boolean | undefined;
  /** Language tag of the texts and of the connector's messages: `de`, `zh-CN`. Default: that of the page. */
  readonly language?: string | undefined;
  /** Custom texts. */
  readonly texts?: Texts | undefined;
  /** Default: that of the system. */
  readonly theme?: 'light' | 'dark' | undefined;
}

/** Adds the picture itself to its variants: with a `srcset` of widths, browsers load nothing else. */
export const fullSrcset = ({
  srcset,
  url,
  width,
}: Pick<PickedFile, 'srcset' | 'url' | 'width'>): string | undefined => {
  if (srcset === undefined || width === undefined || srcset.endsWith(` ${String(width)}w`)) return srcset;
  return `${srcset}, ${url.replaceAll(/[\s,]/gu, encodeURIComponent)} ${String(width)}w`;
};
