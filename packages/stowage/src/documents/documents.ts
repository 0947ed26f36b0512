import type { PageSetup } from './page-setup.ts';

/** Limits for loading external resources while a document is made. */
export interface ResourceRules {
  /** False: no external resources are loaded. */
  readonly enabled: boolean;
  /** Maximum size of one resource in bytes. */
  readonly maxBytes: number;
  /** Time limit in milliseconds for loading all resources of the document. */
  readonly timeoutMs: number;
  /** Milliseconds without data after which a resource is aborted. Default: 10 seconds. */
  readonly stallMs?: number;
}

/** An image, style sheet or font of a document. */
export interface Resource {
  readonly bytes: Buffer;
  /** According to the server. */
  readonly contentType: string | undefined;
}

/**
 * Reads a file of a source, with the access of the request. Undefined: the URL (absolute, or `/path`) does
 * not belong to a source. Rejects when the file is denied.
 */
export type ReadOwn = (
  url: string,
  options: { readonly maxBytes: number; readonly signal: AbortSignal },
) => Promise<Resource | undefined>;

/** A conversion for a request. */
export interface DocumentJob {
  /** A whole page or a fragment. Untrusted. */
  readonly html: string;
  readonly resources: ResourceRules;
  /** Called before a resource is loaded from outside. */
  readonly readOwn?: ReadOwn;
  /** Page settings of the request; they take precedence over those of the document. */
  readonly page?: PageSetup;
  readonly signal: AbortSignal;
}

/**
 * Converts HTML to documents. Scripts never run; images, styles and fonts come from the sources of the
 * request, else from public http and https addresses through the checks of `remote/`. Resources that cannot
 * be loaded are left out.
 *
 * Errors: UnsupportedError when the optional package for the format is not installed, BusyError when too many
 * documents wait, DocumentLimitError when a limit is exceeded, DocumentFailedError, the signal's reason.
 */
export interface DocumentMaker {
  pdf(job: DocumentJob): Promise<Uint8Array>;
  docx(job: DocumentJob): Promise<Uint8Array>;
  /** Aborts running work and leaves no processes behind. */
  close(): Promise<void>;
}

/** Limits for DOCX files, shared by all documents of one connector. */
export const defaultDocxLimits = {
  /** Concurrent documents, each in its own thread. */
  running: 4,
  /** Waiting documents; more are rejected. */
  waiting: 20,
  maxWaitMs: 60_000,
  /** Time limit for one document in milliseconds, not counting the loading of its resources. */
  convertMs: 30_000,
  /** Maximum length of the HTML in characters. */
  maxHtmlLength: 16 * 1024 * 1024,
  /** Memory of one thread in megabytes. */
  maxHeapMb: 512,
  /** Maximum number of pixels of a picture that has to be decoded. */
  maxPixels: 50_000_000,
  /** Time limit for one drawing in milliseconds; a slower one is left out. */
  drawMs: 15_000,
  /** Milliseconds after which idle threads and drawing processes end. */
  idleMs: 60_000,
};

export type DocxLimits = Readonly<typeof defaultDocxLimits>;

const MB = 1024 * 1024;

/** Limits for PDF files, shared by all documents of one connector. */
export const defaultPdfLimits = {
  /** Concurrent documents. Most of the time they wait for resources. */
  running: 4,
  /** Documents that are printed concurrently, once they are loaded. */
  printing: 2,
  /** Waiting documents; more are rejected. */
  waiting: 20,
  maxWaitMs: 60_000,
  /** Time limit for one document in milliseconds, not counting the loading of its resources. */
  renderMs: 30_000,
  maxPdfBytes: 100 * MB,
  /** A browser is replaced after this number of documents. */
  documentsPerBrowser: 100,
  /** A browser that uses more memory than this after a document is replaced. */
  maxBrowserBytes: 768 * MB,
  /** A single browser process that exceeds this while it works is killed, and its document fails. */
  maxProcessBytes: 1024 * MB,
};

export type PdfLimits = Readonly<typeof defaultPdfLimits>;
