import type { FoundMetadata } from '../metadata/heif.ts';
import type { WritableFormat } from '../picture-format.ts';

/** A picture, and what is taken out of it: the position that it names, or all but its pixels. */
export interface PictureJob {
  readonly file: Buffer;
  readonly format: WritableFormat;
  /** What the library has found in it. */
  readonly metadata: FoundMetadata | undefined;
  readonly what: 'location' | 'metadata';
}

/** What the thread is to clean, once in its life. Buffers arrive as plain bytes. */
export type CleaningJob =
  | { readonly kind: 'picture'; readonly picture: PictureJob }
  | { readonly kind: 'drawing'; readonly file: Uint8Array };

/** What the thread answers before it ends; no bytes: there is nothing to clean, or that cannot be done. */
export type CleaningAnswer =
  | { readonly result: 'cleaned'; readonly bytes: Uint8Array; readonly isReduced: boolean }
  | { readonly result: 'unchanged' }
  | { readonly result: 'impossible' }
  /** What its BrokenImageError said, or its failure. */
  | { readonly result: 'broken'; readonly messages: readonly string[]; readonly detail: string };
