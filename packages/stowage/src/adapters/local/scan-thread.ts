import { Worker } from 'node:worker_threads';
import { createSlots } from '../../basics/concurrency/queues.ts';
import { BusyError, StorageUnavailableError } from '../../errors/errors.ts';
import type { Entry, ListOptions } from '../../storage/adapter.ts';
import type { ScanAnswer, ScanPage, ScanRequest, TallyPage, TreePage } from './scan-messages.ts';
import type { FilesPage } from './small-reads.ts';

/** Each open listing holds a handle and a page. */
const OPEN_LISTINGS = 16;
const WAITING_LISTINGS = 256;
/** A folder with many readers must not keep those of other roots waiting. */
const SHARE = { slots: OPEN_LISTINGS - 4, waiting: WAITING_LISTINGS / 2 };
const IDLE_MS = 60_000;
/**
 * Its objects live for a page. A young generation that grows with the work would hold tens of MB for nothing.
 */
const YOUNG_MB = 6;

/** What is asked for of the thread. */
export type ScanTarget<Type extends ScanRequest['type']> = Omit<
  Extract<ScanRequest, { readonly type: Type }>,
  'type' | 'id'
>;

type Page = Exclude<ScanAnswer, { readonly type: 'failed' }>;

interface Listing {
  readonly pages: Page[];
  failure: Error | undefined;
  wake: (() => void) | undefined;
}

/** This process cannot start the thread; the folder can still be read in another way. */
export class ScanThreadMissing extends StorageUnavailableError {}

const entriesOf = (page: ScanPage): Entry[] => {
  const names = page.names === '' ? [] : page.names.split('/');
  const versions = page.versions?.split(' ');
  return names.map((name, index) => {
    const isFolder = page.kinds[index] === 1;
    return {
      name,
      kind: isFolder ? 'folder' : 'file',
      size: isFolder ? undefined : page.sizes?.[index],
      modifiedAt: page.times?.[index],
      changedAt: page.changeTimes?.[index],
      etag: isFolder ? undefined : versions?.[index],
    };
  });
};

/**
 * The thread that scans big folders, for all listings of a connector. It starts with the first one, stays
 * warm, and ends when it has had nothing to do for a minute; if it dies, the next listing starts another. It
 * never keeps the process alive by itself.
 */
export class ScanThread {
  readonly #listings = new Map<number, Listing>();
  readonly #slots = createSlots(OPEN_LISTINGS, WAITING_LISTINGS, SHARE);
  #worker: Worker | undefined;
  #isOnline = false;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  /** Ends the wait of listings that have no slot yet. */
  #closing = new AbortController();

  /**
   * Whether a listing would be answered without a wait behind others, one of a disk that hangs among them. Starts
   * the thread where it does not run: that takes longer than to read a small folder in another way.
   */
  get isFree(): boolean {
    if (this.#worker === undefined) {
      try {
        this.#begin().unref();
        this.#rest();
      } catch {
        // It is said to the listing that needs the thread.
      }
    }
    return this.#isOnline && this.#listings.size === 0;
  }

  /**
   * The pages of a folder, one read ahead. A bounded number of listings is open at the same time, further
   * ones wait.
   * @throws ScanThreadMissing when the thread does not start; BusyError when too many listings wait or the
   *   thread died, as it does when memory is short; the system's error (with its `code`)
   */
  async *scan(
    target: ScanTarget<'open'>,
    { signal, onOmitted }: Pick<ListOptions, 'signal' | 'onOmitted'>,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    for await (const page of this.#pages(target.root, (id) => ({ ...target, type: 'open', id }), signal)) {
      if (page.type !== 'page') continue;
      if (page.omitted > 0) onOmitted?.(page.omitted);
      if (page.kinds.length > 0) yield entriesOf(page);
    }
  }

  /**
   * What a walk finds, one page read ahead. It counts as a listing. Errors are those of `scan`; folders below
   * that are gone or may not be read are none.
   */
  async *walk(
    target: ScanTarget<'walk'>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TreePage, void, undefined> {
    for await (const page of this.#pages(target.root, (id) => ({ ...target, type: 'walk', id }), signal)) {
      if (page.type === 'tree-page' && page.position !== undefined) yield page;
    }
  }

  /** Sums up what lies below a folder. It counts as a listing; errors are those of `walk`. */
  async tally(target: ScanTarget<'tally'>, signal: AbortSignal | undefined): Promise<TallyPage | undefined> {
    for await (const page of this.#pages(target.root, (id) => ({ ...target, type: 'tally', id }), signal))
      if (page.type === 'tally-page' && page.isLast) return page;
    return undefined;
  }

  /**
   * Removes a folder of an open temporary area of the root. It counts as a listing; errors are those of `scan`.
   * False: something is left.
   */
  async remove(root: string, target: ScanTarget<'remove'>): Promise<boolean> {
    for await (const page of this.#pages(root, (id) => ({ ...target, type: 'remove', id }), undefined))
      if (page.type === 'removal-page' && page.isLast) return page.isWhole;
    return false;
  }

  /** Reads small files whole. It counts as a listing; errors are those of `scan`. */
  async read(target: ScanTarget<'files'>, signal: AbortSignal | undefined): Promise<FilesPage | undefined> {
    for await (const page of this.#pages(target.root, (id) => ({ ...target, type: 'files', id }), signal))
      if (page.type === 'files') return page;
    return undefined;
  }

  async *#pages(
    root: string,
    request: (id: number) => ScanRequest,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Page, void, undefined> {
    const { signal: closing } = this.#closing;
    const leave = this.#slots.tryTake(root) ?? (await this.#slots.take(eitherOf(signal, closing), root));
    try {
      // It must not start another thread now.
      closing.throwIfAborted();
      yield* this.#answers(request, signal);
    } finally {
      leave();
    }
  }

  async *#answers(
    request: (id: number) => ScanRequest,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Page, void, undefined> {
    this.#lastId += 1;
    const id = this.#lastId;
    const listing: Listing = { pages: [], failure: undefined, wake: undefined };
    const wake = (): void => listing.wake?.();
    const worker = this.#begin();
    this.#listings.set(id, listing);
    worker.ref();
    signal?.addEventListener('abort', wake, { once: true });
    let isOver = false;
    try {
      post(worker, request(id));
      while (!isOver) {
        const page = await nextPage(listing, signal);
        isOver = page.isLast;
        // The next page is looked at while this one is used.
        if (!isOver) post(worker, { type: 'next', id });
        yield page;
      }
    } finally {
      signal?.removeEventListener('abort', wake);
      if (!isOver && listing.failure === undefined) post(worker, { type: 'close', id });
      this.#end(id);
    }
  }

  /** Ends the thread; listings that run or wait fail. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#closing = new AbortController();
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#leave();
    this.#fail(closed());
    if (worker === undefined) return;
    // The thread closes its folders itself: one that is terminated leaves them to the garbage collection.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    post(worker, { type: 'end' });
    await ended;
  }

  #begin(): Worker {
    clearTimeout(this.#idle);
    return (this.#worker ??= this.#start());
  }

  #end(id: number): void {
    this.#listings.delete(id);
    if (this.#listings.size > 0) return;
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
      // Without the host's flags: loaders and inspectors are not for this thread.
      worker = new Worker(new URL('./scan-worker.js', import.meta.url), {
        execArgv: [],
        env: {},
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
    worker.on('message', (answer: ScanAnswer) => this.#take(answer));
    worker.on('error', lose);
    worker.on('exit', lose);
    return worker;
  }

  #leave(): void {
    this.#worker = undefined;
    this.#isOnline = false;
  }

  #take(answer: ScanAnswer): void {
    const listing = this.#listings.get(answer.id);
    if (listing === undefined || listing.failure !== undefined) return;
    if (answer.type === 'failed')
      listing.failure = Object.assign(new Error(answer.message), { code: answer.code });
    else listing.pages.push(answer);
    listing.wake?.();
  }

  #fail(failure: Error): void {
    for (const listing of this.#listings.values()) {
      listing.failure = failure;
      listing.wake?.();
    }
  }
}

const eitherOf = (one: AbortSignal | undefined, other: AbortSignal): AbortSignal =>
  one === undefined ? other : AbortSignal.any([one, other]);

const closed = (): StorageUnavailableError => new StorageUnavailableError({ detail: 'the store was closed' });

const post = (worker: Worker, request: ScanRequest): void => {
  const memory = request.type === 'files' ? request.memory : undefined;
  worker.postMessage(request, memory === undefined ? [] : [memory]);
};

const nextPage = async (listing: Listing, signal: AbortSignal | undefined): Promise<Page> => {
  for (;;) {
    signal?.throwIfAborted();
    if (listing.failure !== undefined) throw listing.failure;
    const page = listing.pages.shift();
    if (page !== undefined) return page;
    await new Promise<void>((resolve) => {
      listing.wake = resolve;
    });
  }
};
