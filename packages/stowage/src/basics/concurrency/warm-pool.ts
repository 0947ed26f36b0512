/** A thread or a process that does one thing at a time. */
export interface WarmWorker {
  /** False after an end of any kind. */
  readonly isUsable: boolean;
  /** Ends it, also while it works. */
  end(): void | Promise<void>;
}

/** Keeps workers warm whose start takes longer than their work. Callers bound how many are used. */
export class WarmPool<Worker extends WarmWorker> {
  readonly #start: () => Worker;
  readonly #idleMs: number;
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #busy = new Set<Worker>();
  #isClosed = false;

  /** @param idleMs milliseconds after which a worker that is not used ends */
  constructor(start: () => Worker, idleMs: number) {
    this.#start = start;
    this.#idleMs = idleMs;
  }

  /**
   * Uses a worker alone. Work that gives up on its worker ends it: one that is still usable is used again.
   * @throws what `work` throws
   */
  async use<T>(work: (worker: Worker) => Promise<T>): Promise<T> {
    const worker = this.#take();
    this.#busy.add(worker);
    try {
      return await work(worker);
    } finally {
      this.#busy.delete(worker);
      if (worker.isUsable) this.#keep(worker);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const workers = [...this.#idle.keys(), ...this.#busy];
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    await Promise.all(workers.map(async (worker) => worker.end()));
  }

  #take(): Worker {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(worker);
      if (worker.isUsable) return worker;
    }
    return this.#start();
  }

  #keep(worker: Worker): void {
    const retire = (): void => {
      this.#idle.delete(worker);
      void worker.end();
    };
    if (this.#isClosed) retire();
    else this.#idle.set(worker, setTimeout(retire, this.#idleMs).unref());
  }
}
