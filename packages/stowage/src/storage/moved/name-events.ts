import * as z from 'zod';
import type { EntryKind } from '../entry.ts';
import type { ReadableStore, Stat } from '../readable.ts';
import { SourcePath } from '../source-path.ts';
import { withoutCase } from '../../basics/content/file-name.ts';
import {
  foldsRecords,
  MOST_RECORD_BYTES,
  parsedRecord,
  readRecord,
  recordNames,
  type RecordNaming,
  type RecordOptions,
} from '../records.ts';

/** Hidden folder at the root of a source with the records of moved names. Reserved in every source. */
export const MOVED_FOLDER = '.stowage-moved';

const folder = SourcePath.root.child(MOVED_FOLDER);
const RECORD = /^[0-9a-f]{40}\.json$/u;

/** Matches the paths of these records, which are internal to the service. */
export const MOVED_RECORDS = /^\.stowage-moved\/[0-9a-f]{40}\.json$/u;

/** Paths of the records. The file names are hashes of the path described, so that no listing is needed. */
export const movedPaths = {
  all: folder,
  isName: (name: string): boolean => RECORD.test(name),
  /** That of this store first. @see recordNames */
  records: (store: RecordNaming, path: SourcePath): readonly SourcePath[] =>
    recordNames(store, path.toString()).map((name) => folder.child(name)),
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
      }),
    )
    .max(MOST_EVENTS),
});

/** A record as it was read. */
export interface WrittenHistory extends NameHistory {
  /** The path described; undefined when there is no valid record. */
  readonly path?: string | undefined;
  /** Undefined when there is no record. */
  readonly version?: Stat | undefined;
}

/** Undefined when the text is not a valid record, or a record of another path. */
const parseHistory = (
  store: RecordNaming,
  record: SourcePath,
  text: string | undefined,
): WrittenHistory | undefined =>
  parsedRecord(text, (written) => {
    const { path, since, events } = schema.parse(written);
    const records = movedPaths.records(store, SourcePath.parse(path));
    if (!records.some((one) => one.equals(record))) return undefined;
    const read = events.map(({ to, ...event }): NameEvent =>
      to === undefined ? event : { ...event, to: { ...to, path: SourcePath.parse(to.path) } },
    );
    return { path, since, events: read.sort((one, other) => one.at - other.at) };
  });

/** Serializes a history. Drops the oldest events beyond the limits. */
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

/** The history in a record; empty when it is not valid. @see readRecord */
export const readHistoryIn = async (
  store: ReadableStore,
  record: SourcePath,
  options: RecordOptions,
): Promise<WrittenHistory> => {
  const found = await readRecord(store, record, options);
  return { ...(parseHistory(store, record, found?.text) ?? NO_HISTORY), version: found?.version };
};

/** Whether a record describes this path, not one that differs in letter case where that matters. */
export const isHistoryOf = (store: RecordNaming, about: SourcePath, { path }: WrittenHistory): boolean => {
  const formOf = foldsRecords(store) ? withoutCase : String;
  return path !== undefined && formOf(path) === formOf(about.toString());
};

/** The history of a name. */
export interface ReadHistory extends NameHistory {
  /** Version of the record at the name in this store; undefined when there is none. */
  readonly version: Stat | undefined;
  /** The record of another store, from which the files have come, where there is none of this store. */
  readonly foreign?: { readonly path: SourcePath; readonly version: Stat } | undefined;
}

/** The history of a name. A name without a record costs two lookups. @see readRecord */
export const readHistory = async (
  store: ReadableStore,
  about: SourcePath,
  options: RecordOptions,
): Promise<ReadHistory> => {
  const [own = about, other] = movedPaths.records(store, about);
  const read = await readHistoryIn(store, own, options);
  const { version } = read;
  if (other === undefined || isHistoryOf(store, about, read)) return { ...read, version };
  const old = await readHistoryIn(store, other, options);
  if (old.version === undefined || !isHistoryOf(store, about, old)) return { ...NO_HISTORY, version };
  return { ...old, version, foreign: { path: other, version: old.version } };
};
