/** A thread or process that does one task at a time. */
export interface WarmWorker {
  /** False after it has ended for any reason. */
  readonly isUsable: boolean;
  /** Ends the worker, even while it works. */
  end(): void | Promise<void>;
}

/** Keeps idle workers whose start takes longer than their work. Callers limit how many are used. */
export class WarmPool<Worker extends WarmWorker> {
  readonly #start: () => Worker;
  readonly #idleMs: number;
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #busy = new Set<Worker>();
  #isClosed = false;

  /** @param idleMs milliseconds after which an idle worker ends */
  constructor(start: () => Worker, idleMs: number) {
    this.#start = start;
    this.#idleMs = idleMs;
  }

  /** Uses a worker exclusively, and keeps a usable one. Work that abandons its worker ends it. */
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
