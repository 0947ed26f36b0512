import { ConverterThread } from './converter-thread.ts';

/**
 * Keeps converter threads warm: the libraries that they load take longer than a small document. Bounded by
 * those who borrow.
 */
export class ThreadPool {
  readonly #maxHeapMb: number;
  readonly #idleMs: number;
  readonly #idle = new Map<ConverterThread, NodeJS.Timeout>();

  /** @param idleMs milliseconds after which a thread that nobody needs ends */
  constructor(maxHeapMb: number, idleMs: number) {
    this.#maxHeapMb = maxHeapMb;
    this.#idleMs = idleMs;
  }

  /** A thread of one's own until it is given back. */
  take(): ConverterThread {
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(thread);
      if (thread.isUsable) return thread;
    }
    return new ConverterThread(this.#maxHeapMb);
  }

  /** Takes back a thread that has finished its document. */
  giveBack(thread: ConverterThread): void {
    if (!thread.isUsable) return;
    const retire = (): void => {
      this.#idle.delete(thread);
      void thread.end();
    };
    this.#idle.set(thread, setTimeout(retire, this.#idleMs).unref());
  }

  /** Ends the idle threads. */
  async close(): Promise<void> {
    const threads = [...this.#idle.keys()];
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    await Promise.all(threads.map((thread) => thread.end()));
  }
}
