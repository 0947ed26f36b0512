import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../../basics/concurrency/thread-environment.ts';
import { inTimeLimit, orAborted, withOwnSignal } from '../../basics/concurrency/abort.ts';
import { createSlots } from '../../basics/concurrency/queues.ts';
import { BusyError, StorageUnavailableError } from '../../errors/errors.ts';
import type { Entry, ListOptions } from '../../storage/adapter.ts';
import { fromColumns } from './entry-columns.ts';
import type { ListRequest } from './folder-scan.ts';
import type { FromScanThread, JobKind, JobPage, JobRequest, JobResult, ToScanThread } from './scan-worker.ts';

/** Each open job holds a handle and a page. */
const OPEN_JOBS = 16;
const WAITING_JOBS = 256;
/** Readers of one folder must not block those of other roots. */
const SHARE = { slots: OPEN_JOBS - 4, waiting: WAITING_JOBS / 2 };
const IDLE_MS = 60_000;
/** A start costs as much processor time as reading a hundred small folders without the thread. */
const READINGS_BEFORE_START = 32;
/** Longest wait for a thread that hangs at a disk when it is stopped. */
const END_MS = 2000;
/** Objects live for one page only; a young generation that grows with the work would waste tens of MB. */
const YOUNG_MB = 6;

type Page = Extract<FromScanThread, { readonly type: 'page' }>;

/** A job of the thread, with the pages received so far. */
interface Job {
  readonly pages: Page[];
  failure: Error | undefined;
  wake: (() => void) | undefined;
}

/** This process cannot start the thread; the caller can read the folder without it. */
export class ScanThreadMissing extends StorageUnavailableError {}

/**
 * The thread that scans folders, for all stores of a connector. It starts with the first job and ends after a
 * minute without one; if it dies, the next job starts another. It never keeps the process alive. The number
 * of open jobs is bounded; further jobs wait.
 */
export class ScanThread {
  readonly #jobs = new Map<number, Job>();
  readonly #slots = createSlots(OPEN_JOBS, WAITING_JOBS, SHARE);
  #worker: Worker | undefined;
  #isOnline = false;
  #readings = 0;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  /** Pages that were requested and not received, also those of aborted jobs: the thread may hang at one. */
  #owed = 0;
  /** Ends the wait of jobs without a slot. */
  #closing = new AbortController();

  /**
   * Whether a job would start immediately, not behind others or a hanging disk. While the thread is not
   * running, the caller can read a small folder faster without it; after some such readings it is started.
   */
  get isFree(): boolean {
    if (this.#worker === undefined) {
      this.#readings += 1;
      if (this.#readings < READINGS_BEFORE_START) return false;
      try {
        this.#begin().unref();
        this.#rest();
      } catch {
        // The job that needs the thread will report it.
      }
    }
    return this.#isOnline && this.#jobs.size === 0 && this.#owed === 0;
  }

  /** Lists a folder in pages. @throws as `pages` */
  async *scan(
    request: ListRequest,
    { signal, onOmitted }: Pick<ListOptions, 'signal' | 'onOmitted'>,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    for await (const page of this.pages('list', request.root, request, signal)) {
      if (page.omitted > 0) onOmitted?.(page.omitted);
      const entries = fromColumns(page, (entry) => entry);
      if (entries.length > 0) yield entries;
    }
  }

  /** Runs a job for a store of this root to its end. @throws as `pages` */
  async run<Kind extends JobKind>(
    kind: Kind,
    root: string,
    request: JobRequest<Kind>,
    signal?: AbortSignal,
  ): Promise<JobResult<Kind>> {
    let last: unknown;
    for await (const page of this.pages(kind, root, request, signal)) last = page;
    return last as JobResult<Kind>;
  }

  /**
   * Runs a job for a store of this root and yields its pages, reading one page ahead.
   * @throws ScanThreadMissing when the thread does not start; BusyError when too many jobs wait or the thread
   * died, as it does when memory is short; the system's error (with its `code`)
   */
  async *pages<Kind extends JobKind>(
    kind: Kind,
    root: string,
    request: JobRequest<Kind>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<JobPage<Kind>, void, undefined> {
    const { signal: closing } = this.#closing;
    const ends = signal === undefined ? closing : [signal, closing];
    const leave =
      this.#slots.tryTake(root) ?? (await withOwnSignal(ends, (either) => this.#slots.take(either, root)));
    try {
      // The thread is closing: do not start another one.
      closing.throwIfAborted();
      yield* this.#pages(kind, request, signal);
    } finally {
      leave();
    }
  }

  async *#pages<Kind extends JobKind>(
    kind: Kind,
    request: JobRequest<Kind>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<JobPage<Kind>, void, undefined> {
    this.#lastId += 1;
    const id = this.#lastId;
    const job: Job = { pages: [], failure: undefined, wake: undefined };
    const wake = (): void => job.wake?.();
    const worker = this.#begin();
    this.#jobs.set(id, job);
    worker.ref();
    signal?.addEventListener('abort', wake, { once: true });
    let isOver = false;
    try {
      const memory = 'memory' in request ? request.memory : undefined;
      this.#ask(worker, { type: 'begin', id, kind, request }, memory);
      while (!isOver) {
        const { page, isLast } = await nextPage(job, signal);
        isOver = isLast;
        // The thread prepares the next page while this one is used.
        if (!isOver) this.#ask(worker, { type: 'next', id });
        yield page as JobPage<Kind>;
      }
    } finally {
      signal?.removeEventListener('abort', wake);
      if (!isOver && job.failure === undefined) post(worker, { type: 'close', id });
      this.#end(id);
    }
  }

  /** Requests a page. The thread responds to every such message, if only with the failure of the job. */
  #ask(worker: Worker, message: ToScanThread, memory?: ArrayBuffer): void {
    post(worker, message, memory);
    if (this.#worker === worker) this.#owed += 1;
  }

  /** Stops the thread; running and waiting jobs fail. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#closing = new AbortController();
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#leave();
    this.#fail(closed());
    if (worker === undefined) return;
    // The thread closes its folders itself: a terminated one would leave them to garbage collection.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    post(worker, { type: 'end' });
    await inTimeLimit(END_MS, undefined, (limit) => orAborted(ended, limit)).catch(() => {
      worker.unref();
      void worker.terminate();
    });
  }

  #begin(): Worker {
    clearTimeout(this.#idle);
    return (this.#worker ??= this.#start());
  }

  #end(id: number): void {
    this.#jobs.delete(id);
    if (this.#jobs.size > 0) return;
    this.#worker?.unref();
    this.#rest();
  }

  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  #start(): Worker {
    let worker: Worker;
    try {
      // Without the host's flags: loaders and inspectors must not run in this thread.
      worker = new Worker(new URL('./scan-worker.js', import.meta.url), {
        execArgv: [],
        env: threadEnvironment(),
        name: 'folder scan',
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
      });
    } catch (error) {
      throw new ScanThreadMissing({ detail: 'the scanning thread does not start', cause: error });
    }
    const lose = (cause: unknown): void => {
      if (this.#worker !== worker) return;
      this.#leave();
      this.#fail(new BusyError({ detail: 'the scanning thread died', cause }));
    };
    worker.once('online', () => {
      this.#isOnline = this.#worker === worker;
    });
    worker.on('message', (message: FromScanThread) => {
      if (this.#worker === worker) this.#owed -= 1;
      this.#take(message);
    });
    worker.on('error', lose);
    worker.on('exit', lose);
    return worker;
  }

  #leave(): void {
    this.#worker = undefined;
    this.#readings = 0;
    this.#isOnline = false;
    this.#owed = 0;
  }

  #take(message: FromScanThread): void {
    const job = this.#jobs.get(message.id);
    if (job === undefined || job.failure !== undefined) return;
    if (message.type === 'failed')
      job.failure = Object.assign(new Error(message.message), { code: message.code });
    else job.pages.push(message);
    job.wake?.();
  }

  #fail(failure: Error): void {
    for (const job of this.#jobs.values()) {
      job.failure = failure;
      job.wake?.();
    }
  }
}

const closed = (): StorageUnavailableError => new StorageUnavailableError({ detail: 'the store was closed' });

const post = (worker: Worker, message: ToScanThread, memory?: ArrayBuffer): void =>
  worker.postMessage(message, memory === undefined ? [] : [memory]);

const nextPage = async (job: Job, signal: AbortSignal | undefined): Promise<Page> => {
  for (;;) {
    signal?.throwIfAborted();
    if (job.failure !== undefined) throw job.failure;
    const page = job.pages.shift();
    if (page !== undefined) return page;
    await new Promise<void>((resolve) => {
      job.wake = resolve;
    });
  }
};
