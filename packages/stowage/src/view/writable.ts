import type { StorageAdapter } from '../storage/adapter.ts';

/** Under which an open source keeps its store as one that can be changed: only `changes/` may know it. */
export const WRITABLE: unique symbol = Symbol('writable');

/** The store of an open source, with its writing half. */
export const storeOf = (open: { readonly [WRITABLE]: StorageAdapter }): StorageAdapter => open[WRITABLE];
