import * as z from 'zod';
import type { EntryKind } from '../entry.ts';
import type { ReadableStore, Stat } from '../readable.ts';
import { SourcePath } from '../source-path.ts';
import { MOST_RECORD_BYTES, parsedRecord, readRecord, recordName, type RecordOptions } from '../records.ts';

/** The folder at the root of a source that remembers what has left which name. Reserved in every source. */
export const MOVED_FOLDER = '.stowage-moved';

const folder = SourcePath.root.child(MOVED_FOLDER);
const RECORD = /^[0-9a-f]{40}\.json$/u;

/** The paths of such records: what the service keeps for itself. */
export const MOVED_RECORDS = /^\.stowage-moved\/[0-9a-f]{40}\.json$/u;

/** Where records lie. The name of each is made of the path that it is about: one question finds it. */
export const movedPaths = {
  all: folder,
  isName: (name: string): boolean => RECORD.test(name),
  record: (store: Pick<ReadableStore, 'capabilities'>, path: SourcePath): SourcePath =>
    folder.child(recordName(store, path.toString())),
};

/** Where something went that left a name, and when it came there. */
export interface Arrival {
  /** The name of its source. */
  readonly source: string;
  readonly path: SourcePath;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What has happened to a name: something came under it, or left it. */
export interface NameEvent {
  readonly type: 'came' | 'left';
  readonly kind: EntryKind;
  /** Milliseconds since 1970; grows from event to event, also where clocks differ. */
  readonly at: number;
  /** Of what left: undefined when it was removed. */
  readonly to?: Arrival | undefined;
  /** Of a folder that came with content: the names below it, or all. */
  readonly holds?: readonly string[] | 'all' | undefined;
}

/** What is remembered of one name, the oldest event first. */
export interface NameHistory {
  readonly events: readonly NameEvent[];
  /** Of what happened until then nothing is known; 0: from the beginning. */
  readonly since: number;
}

export const NO_HISTORY: NameHistory = { events: [], since: 0 };

const MOST_EVENTS = 64;

const time = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const schema = z.object({
  path: z.string(),
  since: time,
  events: z
    .array(
      z.object({
        type: z.enum(['came', 'left']),
        kind: z.enum(['file', 'folder']),
        at: time,
        to: z.object({ source: z.string(), path: z.string(), at: time }).optional(),
        holds: z.union([z.literal('all'), z.array(z.string())]).optional(),
      }),
    )
    .max(MOST_EVENTS),
});

/** Undefined where a text is not a record, or about another path than its name is made of. */
const parseHistory = (
  store: Pick<ReadableStore, 'capabilities'>,
  record: SourcePath,
  text: string | undefined,
): NameHistory | undefined =>
  parsedRecord(text, (written) => {
    const { path, since, events } = schema.parse(written);
    if (!movedPaths.record(store, SourcePath.parse(path)).equals(record)) return undefined;
    const read = events.map(({ to, ...event }): NameEvent =>
      to === undefined ? event : { ...event, to: { ...to, path: SourcePath.parse(to.path) } },
    );
    return { since, events: read.sort((one, other) => one.at - other.at) };
  });

/** The record of a history; what is too much is left out, the oldest events first. */
export const writtenHistory = (about: SourcePath, { events, since }: NameHistory): Buffer => {
  const written = events.map(({ to, ...event }) =>
    to === undefined ? event : { ...event, to: { ...to, path: to.path.toString() } },
  );
  for (let left = Math.max(0, events.length - MOST_EVENTS); ; left += 1) {
    const known = events[left - 1]?.at ?? since;
    const record = { path: about.toString(), since: known, events: written.slice(left) };
    const bytes = Buffer.from(JSON.stringify(record));
    if (bytes.length <= MOST_RECORD_BYTES || left === events.length) return bytes;
  }
};

/** A record as it was read, and the version that it was. */
export interface ReadHistory extends NameHistory {
  /** Undefined where there is none. */
  readonly version: Stat | undefined;
}

/** The history in a record; empty where it is not one. @see readRecord */
export const readHistoryIn = async (
  store: ReadableStore,
  record: SourcePath,
  options: RecordOptions,
): Promise<ReadHistory> => {
  const found = await readRecord(store, record, options);
  return { ...(parseHistory(store, record, found?.text) ?? NO_HISTORY), version: found?.version };
};

/** What is remembered of a name. @see readRecord */
export const readHistory = (
  store: ReadableStore,
  about: SourcePath,
  options: RecordOptions,
): Promise<ReadHistory> => readHistoryIn(store, movedPaths.record(store, about), options);
