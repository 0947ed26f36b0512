import { WarmPool } from '../../../basics/concurrency/warm-pool.ts';
import { BrokenImageError } from '../../../errors/errors.ts';
import { startDeadline } from '../../../basics/network/deadline.ts';
import type { Picture } from 'stowage-html-docx';
import { DrawingProcess, type DrawingOrder } from './drawing-process.ts';

/** How long drawing may take, and how long its process is kept, in milliseconds. */
export interface DrawingLimits {
  readonly drawMs: number;
  readonly idleMs: number;
}

/** Draws SVG files. There are as many processes as callers draw at a time. */
export class Drawings {
  readonly #drawMs: number;
  readonly #pool: WarmPool<DrawingProcess>;

  constructor({ drawMs, idleMs }: DrawingLimits) {
    this.#drawMs = drawMs;
    this.#pool = new WarmPool(() => new DrawingProcess(), idleMs);
  }

  /**
   * Draws a file.
   * @throws BrokenImageError when it cannot be drawn or takes too long; the signal's reason
   */
  async draw(order: DrawingOrder, signal: AbortSignal): Promise<Picture> {
    signal.throwIfAborted();
    const late = (): Error => new BrokenImageError('The drawing takes too long.');
    const deadline = startDeadline(this.#drawMs, signal, late);
    const drawBy = async (worker: DrawingProcess): Promise<Picture> => {
      try {
        return await deadline.race(worker.draw(order));
      } finally {
        // One that was given up on is still busy with it.
        if (deadline.signal.aborted) worker.end();
      }
    };
    try {
      return await this.#pool.use((worker) =>
        drawBy(worker).catch((error: unknown) => {
          if (worker.isUsable || deadline.signal.aborted) throw error;
          // It died while it was idle, or of this drawing; one more try will show.
          return this.#pool.use(drawBy);
        }),
      );
    } finally {
      deadline.end();
    }
  }

  /** Ends all processes. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
