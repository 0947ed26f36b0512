import { randomBytes } from 'node:crypto';
import { SourcePath } from '../source-path.ts';

/**
 * Folder at the root of a source with the removed items. Reserved in every source, so that they stay hidden
 * where the trash is disabled later, or where sources contain each other.
 */
export const TRASH_FOLDER = '.stowage-trash';

/** Folder at the root with the leftovers of emptied trashes. Reserved like the trash. */
const EMPTIED_FOLDER = '.stowage-emptied';

const trash = SourcePath.root.child(TRASH_FOLDER);
const emptied = SourcePath.root.child(EMPTIED_FOLDER);
/** Milliseconds in base 36, then 128 random bits: ids sort by time and cannot be guessed. */
const ID = /^([0-9a-z]{9})-[0-9a-f]{32}$/u;

/** Id of an item in the trash. Generated here or validated: it cannot be a path. */
export type TrashId = string & { readonly trashId: true };

export const newTrashId = (): TrashId =>
  `${Date.now().toString(36).padStart(9, '0')}-${randomBytes(16).toString('hex')}` as TrashId;

export const isTrashId = (text: string): text is TrashId => ID.test(text);

/** Time of the removal, in milliseconds since 1970. */
export const timeOf = (id: TrashId): number => Number.parseInt(id, 36);

const RECORD = 'record.json';
/** File name of the mark of an item that is being erased, by which leftovers of a crash are recognised. */
const ERASED = 'erased.json';

/** Matches the paths of trash records, which are internal to the service. */
export const TRASH_RECORDS = new RegExp(
  String.raw`^(?:\.stowage-trash|\.stowage-emptied/[^/]+)/[^/]+/(?:record|erased)\.json$`,
  'u',
);

export const trashPaths = {
  all: trash,
  emptied,
  /** A trash that was moved away as a whole, and may include items that arrived during the move. */
  taken: (id: TrashId): SourcePath => emptied.child(`taken-${id}`),
  /** A trash whose contents may all be removed. */
  removable: (id: TrashId): SourcePath => emptied.child(`doomed-${id}`),
  of: (id: TrashId): SourcePath => trash.child(id),
  record: (id: TrashId): SourcePath => trash.child(id).child(RECORD),
  erased: (id: TrashId): SourcePath => trash.child(id).child(ERASED),
  items: (id: TrashId): SourcePath => trash.child(id).child('item'),
  /** The removed item, under its own name. */
  item: (id: TrashId, name: string): SourcePath => trashPaths.items(id).child(name),
};
