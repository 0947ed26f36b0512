import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { DocxPage, Picture } from 'stowage-html-docx';
import { threadEnvironment } from '../../basics/concurrency/thread-environment.ts';
import { DocumentFailedError, DocumentLimitError, StowageError } from '../../errors/errors.ts';

export type ResourceRequest =
  | { readonly kind: 'picture' | 'sheet'; readonly url: string }
  /** A picture embedded in the document, in its own memory. */
  | { readonly kind: 'inline'; readonly bytes: Uint8Array };

/** The response; undefined: the resource is left out. */
export type LoadedResource = Picture | string | undefined;

export type ToThread =
  | { readonly type: 'convert'; readonly html: string; readonly page: DocxPage }
  | { readonly type: 'loaded'; readonly id: number; readonly resource: LoadedResource };

/** Messages from the thread. After `ready`, `done` and `failed` it waits for the next document. */
export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'load'; readonly id: number; readonly resource: ResourceRequest }
  | { readonly type: 'done'; readonly bytes: Uint8Array }
  | { readonly type: 'failed'; readonly limit: string | undefined; readonly detail: string };

/** Loads a resource of a document. Never rejects while the document is still needed. */
export type LoadResource = (resource: ResourceRequest) => Promise<LoadedResource>;

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

/** A thread that converts one document at a time, without blocking the service; may end at any time. */
export class ConverterThread {
  readonly #worker: Worker;
  readonly #loaded: Promise<void>;
  #failed = false;

  /** @param maxHeapMb memory limit of the thread in megabytes; a document that needs more fails */
  constructor(maxHeapMb: number) {
    this.#worker = new Worker(new URL('./thread-main.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
      env: threadEnvironment(),
    });
    // An idle thread must not keep the process alive.
    this.#worker.unref();
    const fail = (): void => {
      this.#failed = true;
    };
    this.#worker.on('error', fail);
    this.#worker.on('exit', fail);
    this.#loaded = new Promise((resolve) => {
      // The first message of the thread is `ready`.
      for (const event of ['message', 'error', 'exit']) this.#worker.once(event, () => resolve());
    });
  }

  /** False once the thread has ended or failed. */
  get isUsable(): boolean {
    return !this.#failed;
  }

  /** Converts one document; callers await the last one. @throws DocumentLimitError, DocumentFailedError */
  async convert(html: string, page: DocxPage, load: LoadResource): Promise<Uint8Array> {
    const messages = on(this.#worker, 'message', { close: ['exit'] });
    this.#send({ type: 'convert', html, page });
    try {
      for await (const [message] of messages as AsyncIterable<[FromThread]>) {
        if (message.type === 'load') void this.#respond(message.id, message.resource, load);
        if (message.type === 'done') return message.bytes;
        if (message.type !== 'failed') continue;
        throw message.limit === undefined
          ? new DocumentFailedError({ detail: message.detail })
          : new DocumentLimitError(message.limit);
      }
    } catch (cause) {
      if (cause instanceof StowageError) throw cause;
      throw isOutOfMemory(cause) ? new DocumentLimitError({ cause }) : new DocumentFailedError({ cause });
    }
    throw new DocumentFailedError({ detail: 'The converter thread ended.' });
  }

  /** Terminates the thread in any state, once its modules have loaded. */
  async end(): Promise<void> {
    this.#failed = true;
    this.#worker.ref();
    // Files that a thread has just opened to load its modules would otherwise stay open until the process
    // ends.
    await this.#loaded;
    await this.#worker.terminate();
  }

  async #respond(id: number, resource: ResourceRequest, load: LoadResource): Promise<void> {
    const loaded = await load(resource).catch(() => undefined);
    if (this.isUsable) this.#send({ type: 'loaded', id, resource: loaded });
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}
