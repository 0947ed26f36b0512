import type { ClientOptions } from '../client/index.ts';
import type { Texts } from './texts.ts';

/** What people have written about a file, or its maker has into it. */
export interface About {
  /** What a picture shows, for those who do not see it. */
  readonly alt?: string | undefined;
  readonly title?: string | undefined;
  readonly caption?: string | undefined;
  readonly credit?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** What matters in a picture, as shares of its width and height from the upper left corner. */
  readonly focalPoint?: { readonly x: number; readonly y: number } | undefined;
}

/** A file that was picked or uploaded, with what a document needs of it. */
export interface PickedFile {
  readonly source: string;
  /** Its folder inside the source, without slashes at the ends. */
  readonly path: string;
  readonly name: string;
  /** The link to write into a document: without a host where the connector is of the page's own site. */
  readonly url: string;
  readonly isImage: boolean;
  /** Words for the attribute `alt`: those about the file, else of its name, unless a camera gave that. */
  readonly alt: string;
  readonly about?: About | undefined;
  readonly thumb?: string | undefined;
  readonly mime?: string | undefined;
  readonly bytes?: number | undefined;
  /** Pixels of a picture as it is seen. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Smaller variants in the picture's own shape and the picture itself, as the attribute `srcset` has them. */
  readonly srcset?: string | undefined;
}

/** What a picker shows, and how it reaches its connector. */
export interface PickerOptions extends ClientOptions {
  /** Names of the sources that are shown; all when absent. */
  readonly sources?: readonly string[] | undefined;
  /** Shows pictures alone. */
  readonly types?: 'image' | undefined;
  /** Whether several files may be picked. */
  readonly several?: boolean | undefined;
  /** Language tag of the texts and of the connector's messages: `de`, `zh-CN`. That of the page when absent. */
  readonly language?: string | undefined;
  /** Texts of your own. */
  readonly texts?: Texts | undefined;
  /** That of the system when absent. */
  readonly theme?: 'light' | 'dark' | undefined;
}

/** The variants and the picture itself: of a `srcset` with widths, browsers show nothing that is not in it. */
export const fullSrcset = ({
  srcset,
  url,
  width,
}: Pick<PickedFile, 'srcset' | 'url' | 'width'>): string | undefined => {
  if (srcset === undefined || width === undefined || srcset.endsWith(` ${String(width)}w`)) return srcset;
  return `${srcset}, ${url.replaceAll(/[\s,]/gu, encodeURIComponent)} ${String(width)}w`;
};
