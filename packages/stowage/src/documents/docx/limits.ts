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
