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
