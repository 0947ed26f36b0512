import { withoutCase } from '../basics/content/letter-case.ts';
import type { StorageAdapter } from './adapter.ts';
import type { ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

/** Where an entry of a store is, or is to be. */
export interface StoreLocation {
  readonly storage: StorageAdapter;
  readonly path: SourcePath;
}

/** Where an entry of a store is, for what changes nothing there. */
export interface Located {
  readonly storage: Pick<ReadableStore, 'identity' | 'capabilities'>;
  readonly path: SourcePath;
}

/**
 * Whether `inner` is `outer` or lies inside it, also when two stores share entries, as far as their
 * identities are known. Letter case does not count where one of the stores ignores it.
 */
export const containsLocation = (outer: Located, inner: Located): boolean => {
  const [one, other] = [outer.storage.identity, inner.storage.identity];
  const isShared = outer.storage === inner.storage || (one !== undefined && one.backend === other?.backend);
  if (!isShared) return false;
  const isExact = outer.storage.capabilities.caseSensitive && inner.storage.capabilities.caseSensitive;
  const comparable = isExact ? (segment: string): string => segment : withoutCase;
  const outerSegments = [...(one?.root ?? []), ...outer.path.segments].map(comparable);
  const innerSegments = [...(other?.root ?? []), ...inner.path.segments].map(comparable);
  return outerSegments.every((segment, index) => segment === innerSegments[index]);
};

/** Whether two locations are one. */
export const isSameLocation = (one: Located, other: Located): boolean =>
  containsLocation(one, other) && containsLocation(other, one);
