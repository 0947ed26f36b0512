import type { Stat } from './adapter.ts';

/** Whether two looks at a file show the same content, by all that the store reports. */
export const isSameVersion = (one: Stat, other: Stat): boolean =>
  one.size === other.size && one.modifiedAt === other.modifiedAt && one.etag === other.etag;
