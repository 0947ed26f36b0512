import type { DocxPage, Picture } from 'stowage-html-docx';

/** What a converter thread may ask for. */
export type ResourceRequest =
  | { readonly kind: 'picture' | 'sheet'; readonly url: string }
  /** A picture that stands in the document itself, with memory of its own. */
  | { readonly kind: 'inline'; readonly bytes: Uint8Array };

/** What it is given; undefined: left out. */
export type LoadedResource = Picture | string | undefined;

/** To the thread. */
export type ToThread =
  | { readonly type: 'convert'; readonly html: string; readonly page: DocxPage }
  | { readonly type: 'loaded'; readonly id: number; readonly resource: LoadedResource };

/** From the thread. After `ready`, `done` and `failed` it waits for the next document. */
export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'load'; readonly id: number; readonly resource: ResourceRequest }
  | { readonly type: 'done'; readonly bytes: Uint8Array }
  | { readonly type: 'failed'; readonly limit: string | undefined; readonly detail: string };
