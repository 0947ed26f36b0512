import { Readable } from 'node:stream';
import { SourcePath } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import type {
  ListOptions,
  OperationOptions,
  PutOptions,
  StorageAdapter,
  StorageCapabilities,
  WriteOptions,
} from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';

/** A store with some operations done otherwise. */
export const replacing = (inner: StorageAdapter, operations: Partial<StorageAdapter>): StorageAdapter =>
  new Proxy(inner, {
    get: (target, key) => {
      const value: unknown = Reflect.get(operations, key) ?? Reflect.get(target, key);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });

/** A store that promises other things than it does. */
export const withCapabilities = (
  inner: StorageAdapter,
  capabilities: Partial<StorageCapabilities>,
): StorageAdapter => replacing(inner, { capabilities: { ...inner.capabilities, ...capabilities } });

/** A store in which something happens right after each read, before its content is handed on. */
export const afterReading = (inner: StorageAdapter, happen: () => Promise<void>): StorageAdapter =>
  replacing(inner, {
    read: async (...input) => {
      const { stat, stream } = await inner.read(...input);
      const bytes = Buffer.concat((await stream.toArray()) as Buffer[]);
      await happen();
      return { stat, stream: Readable.from([bytes], { objectMode: false }) };
    },
  });

/** A store in which somebody else replaces the file right after it has been read. */
export const changing = (inner: StorageAdapter, name: string, content: Buffer): StorageAdapter =>
  afterReading(inner, () => put(inner, name, content));

/**
 * A store in memory that keeps the letter case of names and ignores it in paths, as disks of Windows and
 * macOS do.
 */
export class CaseFoldingStore extends MemoryAdapter {
  override readonly capabilities = { ...new MemoryAdapter().capabilities, caseSensitive: false };

  /** The path as it was once written, as far as it exists. */
  async #known(path: SourcePath): Promise<SourcePath> {
    let known = SourcePath.root;
    for (const segment of path.segments) {
      const names: string[] = [];
      try {
        for await (const page of super.list(known)) names.push(...page.map(({ name }) => name));
      } catch {
        // Nothing lies there.
      }
      known = known.child(names.find((name) => name.toLowerCase() === segment.toLowerCase()) ?? segment);
    }
    return known;
  }

  override async stat(path: SourcePath, options?: OperationOptions) {
    return super.stat(await this.#known(path), options);
  }

  override async *list(folder: SourcePath, options?: ListOptions) {
    yield* super.list(await this.#known(folder), options);
  }

  override async write(path: SourcePath, content: Readable, options?: WriteOptions) {
    return super.write(await this.#known(path), content, options);
  }

  override async moveFile(from: SourcePath, to: SourcePath, options?: PutOptions) {
    await super.moveFile(await this.#known(from), await this.#known(to), options);
  }

  override async moveFolder(from: SourcePath, to: SourcePath, options?: OperationOptions) {
    await super.moveFolder(await this.#known(from), await this.#known(to), options);
  }
}
