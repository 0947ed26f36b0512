import type { Stat } from './adapter.ts';

const SECOND = 1000;

// Stores tell the time of a file to the millisecond in one answer and to the second in another.
const isSameTime = (one: number, other: number): boolean =>
  one === other ||
  ((one % SECOND === 0 || other % SECOND === 0) && Math.floor(one / SECOND) === Math.floor(other / SECOND));

// Some servers call the tag of a young file weak, and a moment later strong.
const opaque = (etag: string): string => etag.replace(/^W\//u, '');

/** Whether two looks at a file show the same content, by all that the store reports both times. */
export const isSameVersion = (one: Stat, other: Stat): boolean =>
  one.size === other.size &&
  (one.modifiedAt === undefined ||
    other.modifiedAt === undefined ||
    isSameTime(one.modifiedAt, other.modifiedAt)) &&
  (one.etag === undefined || other.etag === undefined || opaque(one.etag) === opaque(other.etag));
