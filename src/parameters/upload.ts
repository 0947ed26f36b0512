import type { Readable } from 'node:stream';

/** A file part of a form: its field, the name as sent (last path segment, valid UTF-8) and its bytes. */
export interface UploadedContent {
  readonly field: string;
  readonly filename: string;
  open(): Readable;
}
