import { BrokenImageError } from '../../../errors/errors.ts';
import { startDeadline, type Deadline } from '../../../remote/deadline.ts';
import type { Picture } from '../../../docx/convert.ts';
import { DrawingProcess, type DrawingOrder } from './drawing-process.ts';

/** How long drawing may take, and how long its process is kept, in milliseconds. */
export interface DrawingLimits {
  readonly drawMs: number;
  readonly idleMs: number;
}

/** Draws SVG files. Keeps its processes warm; there are as many as callers draw at a time. */
export class Drawings {
  readonly #limits: DrawingLimits;
  readonly #idle = new Map<DrawingProcess, NodeJS.Timeout>();
  readonly #busy = new Set<DrawingProcess>();

  constructor(limits: DrawingLimits) {
    this.#limits = limits;
  }

  /**
   * Draws a file.
   * @throws BrokenImageError when it cannot be drawn or takes too long; the signal's reason
   */
  async draw(order: DrawingOrder, signal: AbortSignal): Promise<Picture> {
    signal.throwIfAborted();
    const late = (): Error => new BrokenImageError('The drawing takes too long.');
    const deadline = startDeadline(this.#limits.drawMs, signal, late);
    const worker = this.#take();
    try {
      return await this.#drawBy(worker, order, deadline).catch((error: unknown) => {
        if (worker.isUsable || deadline.signal.aborted) throw error;
        // It died while it was idle, or of this drawing; one more try will show.
        return this.#drawBy(new DrawingProcess(), order, deadline);
      });
    } finally {
      deadline.end();
    }
  }

  /** Ends all processes. */
  close(): void {
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const worker of [...this.#idle.keys(), ...this.#busy]) worker.end();
    this.#idle.clear();
  }

  async #drawBy(worker: DrawingProcess, order: DrawingOrder, deadline: Deadline): Promise<Picture> {
    this.#busy.add(worker);
    try {
      return await deadline.race(worker.draw(order));
    } finally {
      // One that was given up on is still busy with it.
      if (deadline.signal.aborted) worker.end();
      this.#busy.delete(worker);
      this.#giveBack(worker);
    }
  }

  #take(): DrawingProcess {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(worker);
      if (worker.isUsable) return worker;
    }
    return new DrawingProcess();
  }

  #giveBack(worker: DrawingProcess): void {
    if (!worker.isUsable) return;
    const retire = (): void => {
      this.#idle.delete(worker);
      worker.end();
    };
    this.#idle.set(worker, setTimeout(retire, this.#limits.idleMs).unref());
  }
}
