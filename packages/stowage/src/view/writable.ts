import type { StorageAdapter } from '../storage/adapter.ts';

/** Under which a view keeps its store: only `changes/` may know it. */
export const WRITABLE: unique symbol = Symbol('writable');

/** The store of a view, with its writing half. */
export const storeOf = (view: { readonly [WRITABLE]: StorageAdapter }): StorageAdapter => view[WRITABLE];
