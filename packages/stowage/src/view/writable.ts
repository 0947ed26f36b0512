import type { StorageAdapter } from '../storage/adapter.ts';

/** Key of the property that holds a view's store. Only `changes/` may use it. */
export const WRITABLE: unique symbol = Symbol('writable');

export const storeOf = (view: { readonly [WRITABLE]: StorageAdapter }): StorageAdapter => view[WRITABLE];
