import { ShuttingDownError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { PdfLimits } from '../documents.ts';
import type { StartedBrowser } from './started-browser.ts';

const WATCH_MS = 250;

/** A lease of the warm browser for one document. */
export interface BrowserLease {
  readonly started: StartedBrowser;
  /** Must be called once; never throws. */
  readonly release: () => Promise<void>;
}

interface Slot {
  readonly starting: Promise<StartedBrowser>;
  running: number;
  served: number;
}

/** Kills browser processes that exceed the memory limit. Their document fails, the others continue. */
const endGiants = async (started: StartedBrowser, maxBytes: number, log: Logger): Promise<void> => {
  for (const { pid, bytes } of await started.processes()) {
    if (bytes <= maxBytes) continue;
    log.warn('A browser process has grown too large and is ended.', { bytes });
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  }
};

const sizeOf = async (started: StartedBrowser): Promise<number> =>
  (await started.processes()).reduce((sum, { bytes }) => sum + bytes, 0);

/** Keeps one browser warm, replaced when it is old, large or dead, and closed after its last document. */
export class BrowserKeeper {
  readonly #start: (signal: AbortSignal) => Promise<StartedBrowser>;
  readonly #limits: PdfLimits;
  readonly #log: Logger;
  readonly #slots = new Set<Slot>();
  #current: Slot | undefined;
  readonly #closing = new AbortController();

  /** @param start starts a browser, and aborts that with the signal */
  constructor(start: (signal: AbortSignal) => Promise<StartedBrowser>, limits: PdfLimits, log: Logger) {
    this.#start = start;
    this.#limits = limits;
    this.#log = log;
  }

  /** Leases the warm browser, or starts one. @throws SHUTTING_DOWN after `close`, errors of the start */
  async lease(): Promise<BrowserLease> {
    this.#closing.signal.throwIfAborted();
    const slot = this.#current ?? this.#open();
    slot.running += 1;
    slot.served += 1;
    if (slot.served >= this.#limits.documentsPerBrowser) this.#retire(slot);
    try {
      const started = await slot.starting;
      const unwatch = this.#watch(started);
      return {
        started,
        release: async () => {
          unwatch();
          await this.#release(slot, started);
        },
      };
    } catch (error) {
      slot.running -= 1;
      throw error;
    }
  }

  /** Closes all browsers, including those in use or still starting. */
  async close(): Promise<void> {
    this.#closing.abort(new ShuttingDownError());
    this.#current = undefined;
    await Promise.all([...this.#slots].map((slot) => this.#end(slot)));
  }

  #open(): Slot {
    const slot: Slot = { starting: this.#start(this.#closing.signal), running: 0, served: 0 };
    this.#slots.add(slot);
    this.#current = slot;
    slot.starting.then(
      ({ gone }) => {
        if (gone.aborted) this.#retire(slot);
        else gone.addEventListener('abort', () => this.#retire(slot), { once: true });
      },
      () => this.#forget(slot),
    );
    return slot;
  }

  #watch(started: StartedBrowser): () => void {
    const check = (): void => {
      void endGiants(started, this.#limits.maxProcessBytes, this.#log);
    };
    const timer = setInterval(check, WATCH_MS).unref();
    return () => clearInterval(timer);
  }

  async #release(slot: Slot, started: StartedBrowser): Promise<void> {
    const bytes = started.gone.aborted ? 0 : await sizeOf(started);
    slot.running -= 1;
    if (bytes > this.#limits.maxBrowserBytes) this.#retire(slot);
    if (slot !== this.#current && slot.running === 0) await this.#end(slot);
  }

  #retire(slot: Slot): void {
    if (this.#current === slot) this.#current = undefined;
    // One that died while idle still has files.
    if (slot.running === 0) void this.#end(slot);
  }

  #forget(slot: Slot): void {
    this.#retire(slot);
    this.#slots.delete(slot);
  }

  async #end(slot: Slot): Promise<void> {
    const started = await slot.starting.catch(() => undefined);
    await started?.close();
    this.#slots.delete(slot);
  }
}
