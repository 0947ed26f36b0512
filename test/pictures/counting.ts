import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';

/** Counts the calls of a store that cost a round trip, by operation and path. */
export const counting = (inner: StorageAdapter): { storage: StorageAdapter; calls: string[] } => {
  const calls: string[] = [];
  const storage = new Proxy(inner, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...input: unknown[]): unknown => {
        calls.push(`${String(key)} ${String(input[0])}`);
        return (member as (...args: unknown[]) => unknown).apply(target, input);
      };
    },
  });
  return { storage, calls };
};
