import { Readable } from 'node:stream';
import type { StorageAdapter } from '../../dist/storage/adapter.js';
import { put } from '../images/gallery.ts';

/** A store in which somebody else replaces the file right after it has been read. */
export const changing = (inner: StorageAdapter, name: string, content: Buffer): StorageAdapter =>
  new Proxy(inner, {
    get: (target, key) =>
      key === 'read'
        ? async (...input: Parameters<StorageAdapter['read']>) => {
            const { stat, stream } = await target.read(...input);
            const bytes = Buffer.concat((await stream.toArray()) as Buffer[]);
            await put(target, name, content);
            return { stat, stream: Readable.from([bytes], { objectMode: false }) };
          }
        : typeof Reflect.get(target, key) === 'function'
          ? (Reflect.get(target, key) as () => unknown).bind(target)
          : (Reflect.get(target, key) as unknown),
  });
