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
export interface DocumentMaker {
  pdf(job: DocumentJob): Promise<Uint8Array>;
  docx(job: DocumentJob): Promise<Uint8Array>;
  /** Stops what is under way and leaves no process behind. */
  close(): Promise<void>;
}

/** Bounds of making DOCX files, for all documents of one connector. */
export interface DocxLimits {
  /** Documents at a time, each in a thread of its own. */
  readonly running: number;
  /** Documents that wait; more are refused. */
  readonly waiting: number;
  readonly maxWaitMs: number;
  /** Milliseconds for one document, besides what its resources may take to load. */
  readonly convertMs: number;
  /** Most characters of HTML. */
  readonly maxHtmlLength: number;
  /** Memory of one thread in megabytes. */
  readonly maxHeapMb: number;
  /** Pixels of one picture that has to be decoded. */
  readonly maxPixels: number;
  /** Milliseconds for one drawing; one that takes longer is left out. */
  readonly drawMs: number;
  /** Milliseconds after which an idle thread, or process that draws, ends. */
  readonly idleMs: number;
}

export const defaultDocxLimits: DocxLimits = {
  running: 4,
  waiting: 20,
  maxWaitMs: 60_000,
  convertMs: 30_000,
  maxHtmlLength: 16 * 1024 * 1024,
  maxHeapMb: 512,
  maxPixels: 50_000_000,
  drawMs: 15_000,
  idleMs: 60_000,
};

/** Bounds of making PDF files, for all documents of one connector. */
export interface PdfLimits {
  /** Documents at a time. Most of them wait for what they load. */
  readonly running: number;
  /** Documents that are being printed at a time, once they are loaded. */
  readonly printing: number;
  /** Documents that wait; more are refused. */
  readonly waiting: number;
  readonly maxWaitMs: number;
  /** Milliseconds for one document, besides what its resources may take to load. */
  readonly renderMs: number;
  readonly maxPdfBytes: number;
  /** A browser is replaced after so many documents. */
  readonly documentsPerBrowser: number;
  /** A browser that keeps more memory than this after a document is replaced. */
  readonly maxBrowserBytes: number;
  /**
   * A single process of the browser that grows beyond this while it works is ended, and its document with it.
   */
  readonly maxProcessBytes: number;
}

const MB = 1024 * 1024;

export const defaultPdfLimits: PdfLimits = {
  running: 4,
  printing: 2,
  waiting: 20,
  maxWaitMs: 60_000,
  renderMs: 30_000,
  maxPdfBytes: 100 * MB,
  documentsPerBrowser: 100,
  maxBrowserBytes: 768 * MB,
  maxProcessBytes: 1024 * MB,
};
