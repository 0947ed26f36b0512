import { randomBytes } from 'node:crypto';
import { SourcePath } from '../source-path.ts';

/**
 * The folder at the root of a source that holds what was removed. Reserved in every source, so that what was
 * removed stays hidden where the trash is switched off later, or where sources lie in each other.
 */
export const TRASH_FOLDER = '.stowage-trash';

/** The folder at the root that holds what is left of emptied trashes. Reserved as the trash is. */
export const EMPTIED_FOLDER = '.stowage-emptied';

const trash = SourcePath.root.child(TRASH_FOLDER);
const emptied = SourcePath.root.child(EMPTIED_FOLDER);
/** Milliseconds in base 36, then 128 random bits: ids sort by time and cannot be guessed. */
const ID = /^([0-9a-z]{9})-[0-9a-f]{32}$/u;

/** The id of something in the trash. Made here or checked: it cannot be a path. */
export type TrashId = string & { readonly trashId: true };

/** A new id for something that is removed now. */
export const newTrashId = (): TrashId =>
  `${Date.now().toString(36).padStart(9, '0')}-${randomBytes(16).toString('hex')}` as TrashId;

/** Whether a text has the form of an id. */
export const isTrashId = (text: string): text is TrashId => ID.test(text);

/** When it was removed, in milliseconds since 1970. */
export const timeOf = (id: TrashId): number => Number.parseInt(id, 36);

const RECORD = 'record.json';
/** The name of a record whose item is being erased: what a crash leaves is known by it. */
const ERASED = 'erased.json';

/** The paths of records of the trash: what the service keeps for itself. */
export const TRASH_RECORDS = new RegExp(
  String.raw`^(?:\.stowage-trash|\.stowage-emptied/[^/]+)/[^/]+/(?:record|erased)\.json$`,
  'u',
);

/** Where things of the trash lie. */
export const trashPaths = {
  all: trash,
  emptied,
  /** A trash that was taken away as a whole, and may hold what came into it meanwhile. */
  taken: (id: TrashId): SourcePath => emptied.child(`taken-${id}`),
  /** One of which all may go. */
  doomed: (id: TrashId): SourcePath => emptied.child(`doomed-${id}`),
  of: (id: TrashId): SourcePath => trash.child(id),
  record: (id: TrashId): SourcePath => trash.child(id).child(RECORD),
  erased: (id: TrashId): SourcePath => trash.child(id).child(ERASED),
  items: (id: TrashId): SourcePath => trash.child(id).child('item'),
  /** What was removed, under its own name. */
  item: (id: TrashId, name: string): SourcePath => trashPaths.items(id).child(name),
};
