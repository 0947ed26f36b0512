import { randomUUID } from 'node:crypto';
import { addAbortSignal, Readable } from 'node:stream';
import * as z from 'zod';
import { ChangedMeanwhileError, NotEmptyError, NotFoundError } from '../../errors/errors.ts';
import type * as port from '../../storage/adapter.ts';
import { consumeContent, type ContentOptions } from '../../storage/content.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { capabilitiesOf } from '../capabilities.ts';
import * as option from '../support/option-fields.ts';
import { createBudget, Tree, type Budget, type FileNode, type Node } from './tree.ts';

interface MemoryOptions {
  /** Maximum bytes of files, names and content being received, in total. Default: 256 MB. */
  readonly maxBytes?: number | undefined;
}

const DEFAULT_MAX_BYTES = 256 * 1024 * 1024;
const WHOLE = 'must be a whole number of bytes above 0';

/** Options as configured; missing ones get the defaults. */
const memoryOptionsSchema = z
  .strictObject({ maxBytes: z.int(WHOLE).positive(WHOLE).nullish() }, 'must be an object')
  .nullish()
  .transform((options): MemoryOptions => ({ maxBytes: options?.maxBytes ?? undefined }));

const PAGE = 1000;
const CHUNK_BYTES = 64 * 1024;

const statOf = (name: string, node: Node): port.Stat => ({
  name,
  kind: node.kind,
  size: node.kind === 'file' ? node.bytes.length : undefined,
  modifiedAt: node.modifiedAt,
  etag: node.kind === 'file' ? node.etag : undefined,
});

const streamOf = (bytes: Buffer, range?: port.ByteRange): Readable => {
  const end = range === undefined ? bytes.length : range.end + 1;
  let position = range?.start ?? 0;
  return new Readable({
    read() {
      const next = bytes.subarray(position, Math.min(end, position + CHUNK_BYTES));
      position += next.length;
      this.push(next.length === 0 ? null : next);
    },
  });
};

/** A store in the memory of the process, for tests and demos. Bounded; every operation is atomic. */
export class MemoryAdapter implements port.StorageAdapter {
  readonly capabilities = capabilitiesOf('memory');
  readonly #budget: Budget;
  readonly #tree: Tree;
  readonly #now: () => number;
  // Distinguishes ETags of this store from those of an earlier one that clients may have cached.
  readonly #instance = randomUUID().slice(0, 8);
  #versions = 0;

  constructor(options: MemoryOptions = {}, now: () => number = Date.now) {
    this.#budget = createBudget(options.maxBytes ?? DEFAULT_MAX_BYTES);
    this.#tree = new Tree(this.#budget, now);
    this.#now = now;
  }

  async stat(path: SourcePath, options: port.OperationOptions = {}): Promise<port.Stat> {
    options.signal?.throwIfAborted();
    return statOf(path.name, this.#tree.get(path));
  }

  async *list(
    folder: SourcePath,
    options: port.ListOptions = {},
  ): AsyncGenerator<readonly port.Entry[], void, undefined> {
    options.signal?.throwIfAborted();
    const entries = [...this.#tree.getFolder(folder).children].map(([name, node]) => statOf(name, node));
    for (let start = 0; start < entries.length; start += PAGE) {
      options.signal?.throwIfAborted();
      yield entries.slice(start, start + PAGE);
    }
  }

  async read(path: SourcePath, options: port.ReadOptions = {}): Promise<port.ReadResult> {
    const { signal, range, ifMatch } = options;
    signal?.throwIfAborted();
    const file = this.#tree.getFile(path);
    if (ifMatch !== undefined && ifMatch !== file.etag) throw new ChangedMeanwhileError();
    const stream = streamOf(file.bytes, range);
    return {
      stat: statOf(path.name, file),
      stream: signal === undefined ? stream : addAbortSignal(signal, stream),
    };
  }

  async write(path: SourcePath, content: Readable, options: port.WriteOptions = {}): Promise<port.Stat> {
    const bytes = await this.#takeIn(content, options);
    try {
      return this.#put(path, bytes, options);
    } catch (error) {
      this.#budget.give(bytes.length);
      throw error;
    }
  }

  async stage(content: Readable, options: port.OperationOptions = {}): Promise<port.StagedFile> {
    let bytes: Buffer | undefined = await this.#takeIn(content, options);
    const { length } = bytes;
    const present = (): Buffer => {
      if (bytes === undefined)
        throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
      return bytes;
    };
    return {
      size: length,
      open: () => streamOf(present()),
      commit: async (target, commitOptions = {}) => {
        const stat = this.#put(target, present(), commitOptions);
        bytes = undefined;
        return stat;
      },
      discard: async () => {
        if (bytes !== undefined) this.#budget.give(length);
        bytes = undefined;
      },
    };
  }

  async makeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#tree.makeFolder(path);
  }

  async removeFile(path: SourcePath, { signal, ifUnchanged }: port.RemoveFileOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if (ifUnchanged !== undefined && ifUnchanged.etag !== this.#tree.getFile(path).etag)
      throw new ChangedMeanwhileError();
    this.#tree.remove(path, 'file');
  }

  async removeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#tree.remove(path, 'folder');
  }

  async removeEmptyFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (!path.isRoot && this.#tree.getFolder(path).children.size > 0) throw new NotEmptyError();
    this.#tree.remove(path, 'folder');
  }

  async copyFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const { bytes } = this.#tree.getFile(from);
    this.#budget.take(bytes.length);
    try {
      this.#put(to, bytes, options);
    } catch (error) {
      this.#budget.give(bytes.length);
      throw error;
    }
  }

  async moveFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#tree.move(from, to, 'file', options.createOnly === true);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#tree.move(from, to, 'folder', true);
  }

  async statMany(
    folder: SourcePath,
    names: readonly string[],
    options: port.OperationOptions = {},
  ): Promise<readonly (port.Entry | undefined)[]> {
    options.signal?.throwIfAborted();
    const { children } = this.#tree.getFolder(folder);
    return names.map((name) => {
      const node = children.get(name);
      return node === undefined ? undefined : statOf(name, node);
    });
  }

  async #takeIn(content: Readable, options: ContentOptions): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let taken = 0;
    try {
      await consumeContent(content, options, async (incoming) => {
        for await (const chunk of incoming) {
          this.#budget.take(chunk.byteLength);
          taken += chunk.byteLength;
          chunks.push(chunk);
        }
      });
    } catch (error) {
      this.#budget.give(taken);
      throw error;
    }
    return Buffer.concat(chunks);
  }

  #put(path: SourcePath, bytes: Buffer, options: Omit<port.WriteOptions, 'size'>): port.Stat {
    options.signal?.throwIfAborted();
    if (options.ifMatch !== undefined) {
      const old = this.#tree.find(path);
      if (old?.kind !== 'file' || old.etag !== options.ifMatch) throw new ChangedMeanwhileError();
    }
    this.#versions += 1;
    const etag = `"${this.#instance}-${this.#versions}"`;
    const file: FileNode = { kind: 'file', bytes, modifiedAt: this.#now(), etag };
    this.#tree.putFile(path, file, options.createOnly === true);
    return statOf(path.name, file);
  }
}

export const memoryFactory: StorageFactory<MemoryOptions | undefined> = {
  parseOptions: option.parser(memoryOptionsSchema),
  create: ({ options }) => new MemoryAdapter(options),
};
