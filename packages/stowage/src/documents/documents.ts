import type { PageSetup } from './page-setup.ts';

/** What a document may load from outside while it is made. */
export interface ResourceRules {
  /** False: nothing is loaded from outside. */
  readonly enabled: boolean;
  /** Most bytes of one resource. */
  readonly maxBytes: number;
  /** Milliseconds that loading may take, for all resources of the document together. */
  readonly timeoutMs: number;
  /** Milliseconds after which a resource is given up when nothing more of it comes. Default: 10 seconds. */
  readonly stallMs?: number;
}

/** Something that a document shows. */
export interface Resource {
  readonly bytes: Buffer;
  /** As the server says. */
  readonly contentType: string | undefined;
}

/**
 * Reads what lies in a source of the request, as far as the request may. Undefined: the URL (absolute, or
 * `/path`) belongs to no file of a source. Rejects when the file may not be shown.
 */
export type ReadOwn = (
  url: string,
  options: { readonly maxBytes: number; readonly signal: AbortSignal },
) => Promise<Resource | undefined>;

/** A conversion that a request waits for. */
export interface DocumentJob {
  /** A whole page or a piece of one. Never trusted. */
  readonly html: string;
  readonly resources: ResourceRules;
  /** Asked before anything is loaded from outside. */
  readonly readOwn?: ReadOwn;
  /** What the caller wants of the pages; it wins over what the document says. */
  readonly page?: PageSetup;
  readonly signal: AbortSignal;
}

/**
 * Turns HTML into documents. Scripts never run; images, styles and fonts come from the sources of the
 * request, else from public http and https addresses through the guarded door of `remote/`, and what cannot
 * be had is left out.
 *
 * Errors: UnsupportedError when the optional package for the format is not installed, BusyError when too many
 * documents wait, DocumentLimitError when a limit is passed, DocumentFailedError, the signal's reason.
 */
export interface Documents {
  pdf(job: DocumentJob): Promise<Uint8Array>;
  docx(job: DocumentJob): Promise<Uint8Array>;
  /** Stops what is under way and leaves no process behind. */
  close(): Promise<void>;
}
