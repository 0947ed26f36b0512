import { type ChildProcess, fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Picture } from 'stowage-html-docx';
import { WarmPool } from '../../basics/concurrency/warm-pool.ts';
import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import type { DocxLimits } from '../documents.ts';

/** Message to the process. */
export interface DrawingOrder {
  readonly svg: Uint8Array;
  readonly maxPixels: number;
}

/** Message from it: the picture, or the reason of the failure. */
export type DrawingResult = { readonly picture: Picture } | { readonly detail: string };

/** Whether bytes are an SVG file, according to their beginning. */
export const isSvg = (bytes: Buffer): boolean =>
  /^\s*(?:<\?xml|<!--|<!doctype svg|<svg)/iu.test(bytes.toString('utf8', 0, 256)) && bytes.includes('<svg');

/** Limit of the address space. Node and the library take 700 MB of it before they draw. */
const MAX_MEMORY_KILOBYTES = 1792 * 1024;
/** Limits of the operating system, as far as supported; short of memory, it kills this process first. */
const BOUNDED = [
  `ulimit -c 0; ulimit -v ${String(MAX_MEMORY_KILOBYTES)}`,
  'echo 1000 >/proc/self/oom_score_adj; exec "$@"',
].join('; ');
/** Further threads and memory arenas would only take address space: it draws one file at a time. */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: '1', VIPS_CONCURRENCY: '1', MALLOC_ARENA_MAX: '1' };
const NODE_OPTIONS = ['--max-old-space-size=64'];

const start = (): ChildProcess => {
  const shell = { execPath: '/bin/sh', execArgv: ['-c', BOUNDED, 'sh', process.execPath, ...NODE_OPTIONS] };
  return fork(fileURLToPath(new URL('./process-main.js', import.meta.url)), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: ENVIRONMENT,
    ...(process.platform === 'win32' ? { execArgv: NODE_OPTIONS } : shell),
  });
};

/**
 * Draws SVG files in a separate process, one at a time. The library cannot be interrupted while it draws, and
 * would occupy one of the few threads that all file operations share; a process can be killed.
 */
class DrawingProcess {
  readonly #child: ChildProcess;
  #failed = false;

  constructor() {
    this.#child = start();
    const fail = (): void => {
      this.#failed = true;
    };
    this.#child.on('error', fail);
    this.#child.on('exit', fail);
    // An idle process must not keep this one alive.
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** False once the process has ended or failed. */
  get isUsable(): boolean {
    return !this.#failed;
  }

  /** Draws one file; callers await the last one. @throws BrokenImageError, also when the process ends */
  async draw(order: DrawingOrder): Promise<Picture> {
    const result = await this.#ask(order);
    if ('picture' in result) return result.picture;
    throw new BrokenImageError({ detail: result.detail });
  }

  /** Kills the process in any state. */
  end(): void {
    this.#failed = true;
    this.#child.kill('SIGKILL');
  }

  async #ask(order: DrawingOrder): Promise<DrawingResult> {
    const child = this.#child;
    child.channel?.ref();
    const messages = on(child, 'message', { close: ['exit'] });
    try {
      child.send(order);
      const { value } = (await messages.next()) as IteratorResult<[DrawingResult], undefined>;
      if (value !== undefined) return value[0];
      throw new Error('The drawing process ended.');
    } catch (cause) {
      this.#failed = true;
      throw new BrokenImageError({ detail: 'The drawing process ended.', cause });
    } finally {
      await messages.return?.();
      child.channel?.unref();
    }
  }
}

/** Draws SVG files. The number of processes is that of concurrent calls. */
export const createDrawings = ({ drawMs, idleMs }: Pick<DocxLimits, 'drawMs' | 'idleMs'>) => {
  const pool = new WarmPool(() => new DrawingProcess(), idleMs);

  const drawWithin = (order: DrawingOrder, limit: AbortSignal): Promise<Picture> => {
    const drawBy = async (worker: DrawingProcess): Promise<Picture> => {
      try {
        return await orAborted(worker.draw(order), limit);
      } finally {
        // After an abort it is still drawing.
        if (limit.aborted) worker.end();
      }
    };
    return pool.use((worker) =>
      drawBy(worker).catch((error: unknown) => {
        if (worker.isUsable || limit.aborted) throw error;
        // It died while idle, or because of this drawing; a retry will show.
        return pool.use(drawBy);
      }),
    );
  };

  return {
    /** Draws a file. @throws BrokenImageError, also when it takes too long; the signal's reason */
    draw: async (order: DrawingOrder, signal: AbortSignal): Promise<Picture> => {
      signal.throwIfAborted();
      const late = (): Error => new BrokenImageError('The drawing takes too long.');
      return inTimeLimit(drawMs, signal, (limit) => drawWithin(order, limit), late);
    },
    close: (): Promise<void> => pool.close(),
  };
};

export type Drawings = ReturnType<typeof createDrawings>;
