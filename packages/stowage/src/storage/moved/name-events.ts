import * as z from 'zod';
import type { EntryKind } from '../entry.ts';
import type { ReadableStore, Stat } from '../readable.ts';
import { SourcePath } from '../source-path.ts';
import {
  isAbout,
  MOST_RECORD_BYTES,
  parsedRecord,
  readRecord,
  recordName,
  type RecordNaming,
  type RecordOptions,
} from '../records.ts';

/** Hidden folder at the root of a source with the records of moved names. Reserved in every source. */
export const MOVED_FOLDER = '.stowage-moved';

const folder = SourcePath.root.child(MOVED_FOLDER);
const RECORD = /^[0-9a-f]{40}\.json$/u;

/** Matches the paths of these records, which are internal to the service. */
export const MOVED_RECORDS = /^\.stowage-moved\/[0-9a-f]{40}\.json$/u;

/** Paths of the records. The file name is a hash of the path described, so that one request finds it. */
export const movedPaths = {
  all: folder,
  isName: (name: string): boolean => RECORD.test(name),
  record: (path: SourcePath): SourcePath => folder.child(recordName(path.toString())),
};

/** Target of an item that left its name, and the time of its arrival. */
export interface Arrival {
  /** Name of the target source. */
  readonly source: string;
  readonly path: SourcePath;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** An event of a name: an item appeared under it, or left it. */
export interface NameEvent {
  readonly type: 'came' | 'left';
  readonly kind: EntryKind;
  /** Milliseconds since 1970; increases with every event, even where clocks differ. */
  readonly at: number;
  /** Target of an item that left; undefined when it was removed. */
  readonly to?: Arrival | undefined;
  /** For a folder that appeared with contents: the names below it, or all. */
  readonly holds?: readonly string[] | 'all' | undefined;
  /** The name, as it was written; undefined for a new event. */
  readonly path?: string | undefined;
}

/** The history of one name, oldest event first. */
export interface NameHistory {
  readonly events: readonly NameEvent[];
  /** Events up to this time are not recorded; 0: the history is complete. */
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
        path: z.string().optional().describe('Where it differs in letter case from that of the record.'),
      }),
    )
    .max(MOST_EVENTS),
});

/** Undefined when the text is not a valid record, or a record of another path. */
const parseHistory = (record: SourcePath, text: string | undefined): NameHistory | undefined =>
  parsedRecord(text, (written) => {
    const { path, since, events } = schema.parse(written);
    if (!movedPaths.record(SourcePath.parse(path)).equals(record)) return undefined;
    const read = events.map(({ to, ...event }): NameEvent => {
      const arrival = to && { ...to, path: SourcePath.parse(to.path) };
      return { path, ...event, to: arrival };
    });
    return { since, events: read.sort((one, other) => one.at - other.at) };
  });

/** Serializes the events of a record. Drops the oldest ones beyond the limits. */
export const writtenHistory = (about: SourcePath, { events, since }: NameHistory): Buffer => {
  const written = events.map(({ to, path, ...event }) => ({
    ...event,
    to: to && { ...to, path: to.path.toString() },
    path: path === about.toString() ? undefined : path,
  }));
  for (let left = Math.max(0, events.length - MOST_EVENTS); ; left += 1) {
    const known = events[left - 1]?.at ?? since;
    const record = { path: about.toString(), since: known, events: written.slice(left) };
    const bytes = Buffer.from(JSON.stringify(record));
    if (bytes.length <= MOST_RECORD_BYTES || left === events.length) return bytes;
  }
};

export interface ReadHistory extends NameHistory {
  /** Undefined when there is no record. */
  readonly version: Stat | undefined;
  /** Events in the record of names that differ in letter case, where that matters. */
  readonly others: readonly NameEvent[];
}

/** The events of all names in a record; empty when it is not valid. @see readRecord */
export const readHistoryIn = async (
  store: ReadableStore,
  record: SourcePath,
  options: RecordOptions,
): Promise<Omit<ReadHistory, 'others'>> => {
  const found = await readRecord(store, record, options);
  return { ...(parseHistory(record, found?.text) ?? NO_HISTORY), version: found?.version };
};

/** The part of a record that is about this name. */
export const historyIn = <Read extends NameHistory>(
  store: RecordNaming,
  about: SourcePath,
  read: Read,
): Read & Pick<ReadHistory, 'others'> => {
  const isOurs = isAbout(store, about.toString());
  const ours = read.events.filter(({ path }) => isOurs(path ?? ''));
  return { ...read, events: ours, others: read.events.filter((event) => !ours.includes(event)) };
};

/** The history of a name. @see readRecord */
export const readHistory = async (
  store: ReadableStore,
  about: SourcePath,
  options: RecordOptions,
): Promise<ReadHistory> =>
  historyIn(store, about, await readHistoryIn(store, movedPaths.record(about), options));
