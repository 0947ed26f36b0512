import { randomUUID } from 'node:crypto';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import { sanitizeName } from '../basics/content/file-name.ts';
import { AlreadyExistsError, BusyError } from '../errors/errors.ts';
import type { EntryKind } from '../storage/adapter.ts';
import type { Located } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { findInTrash, trashLocation } from '../storage/trash/trashed.ts';
import { type Item, missing } from '../view/folder-view.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type {
  Change,
  ChangeContext,
  Create,
  Done,
  Edit,
  StageContext,
  Replace,
  Stage,
  Stored,
  WholeChange,
} from './change.ts';
import { describing } from './describing.ts';
import { events, hooks } from './events.ts';
import { following } from './follow.ts';
import { moved } from './moved.ts';
import { quota } from './quota.ts';
import { contents, rights } from './rights.ts';
import { store } from './store.ts';
import { trash } from './trash.ts';
import { inspected, withFileNameIf } from './uploaded-file.ts';

/** The locations whose content a change stores, removes or replaces, and folders that it copies. */
const locationsOf = (change: Change): readonly Located[] => {
  if (change.type === 'document') return [];
  const storage = storeOf(change.open);
  const target = { storage, path: change.path };
  if (change.type === 'put') return change.isLocked === true ? [] : [target];
  if (change.type === 'remove' || change.type === 'describe') return [target];
  if ('item' in change) {
    const original = { storage: storeOf(change.from), path: change.item.path };
    if (change.type !== 'copy') return [original, target];
    return change.item.kind === 'folder' ? [original] : [];
  }
  if (change.type === 'restore') return [trashLocation(storage, change.record), target];
  return change.type === 'erase' ? [trashLocation(storage, change.record)] : [];
};

const isOfFile = (change: Change): boolean => {
  if ('item' in change) return change.item.kind === 'file';
  if ('record' in change) return change.type === 'erase' || change.record.kind === 'file';
  return change.type !== 'remove' || change.kind === 'file';
};

const findAgain = async (view: SourceView, path: SourcePath, kind: EntryKind): Promise<Item> => {
  view.forget(path);
  const item = await view.lookUp(path, kind);
  if (item.kind !== kind) throw missing(kind);
  return item;
};

/**
 * Checks that the items of a change still exist. After a wait for the lock, or a recent move or removal of the
 * folder, returns the change with its item as the earlier change left it. @throws NotFoundError
 */
const upToDate = async (context: StageContext, change: Change, isStale: boolean): Promise<Change> => {
  const { signal } = context;
  if (change.type === 'restore' || change.type === 'erase') {
    const { open, record } = change;
    const isSeen = !isStale && record.seen !== undefined;
    if (!isSeen && (await findInTrash(storeOf(open), record.id, { signal })) === undefined)
      throw missing('file or folder');
  }
  if (change.type === 'describe') await findAgain(change.open, change.path, 'file');
  if (change.type === 'put' && change.mustExist === true) {
    const { stat: replaces } = await findAgain(change.open, change.path, 'file');
    return { ...change, replaces };
  }
  if (isStale && change.type === 'put') return { ...change, isNoFolder: false };
  if (isStale && change.type === 'remove') {
    const { stat: seen } = await findAgain(change.open, change.path, change.kind);
    return { ...change, seen };
  }
  if (isStale && 'item' in change) {
    // Stores create a missing folder implicitly when something is moved into it.
    change.open.forget(change.path.parent);
    await change.open.requireFolder(change.path.parent, 'destination folder');
    return { ...change, item: await findAgain(change.from, change.item.path, change.item.kind) };
  }
  return change;
};

/**
 * Locks the locations that the change stores, removes or replaces until it is done. Between two changes no
 * version is lost, also where the store does not support conditional writes, and their events have the order
 * of the changes. The copy of a folder only waits here for running changes of it, of which it would copy
 * a part.
 */
const lock: Stage = async (context, change, next) => {
  const locations = locationsOf(change);
  if (locations.length === 0) return next(change);
  const { locations: locks, unreported } = context.services;
  const check = (hasWaited: boolean): Promise<Change> =>
    upToDate(context, change, hasWaited || ('item' in change && locations.some(locks.mayHaveLeft)));
  const { signal } = context;
  if (change.type === 'copy') return next(await locks.hold(locations, { signal, isOfFile: true }, check));
  const options = { signal, isOfFile: isOfFile(change) };
  return locks.hold(locations, options, async (hasWaited) => {
    try {
      return await next(await check(hasWaited));
    } finally {
      // Others report first what they have stored here.
      if (context.done.length > 0)
        for (const report of unreported) await report(locations, context.requester);
    }
  });
};

/** Changes that do not lock the names in the folder to which they add something. */
const ADDING = /^(?:create|replace|edit|makeFolder|copy)$/u;

/**
 * Keeps the folder of new content from being moved or removed until the content is stored: it would be lost,
 * or the store would create the folder again. Keeps a folder that is copied until the copy is whole.
 * @throws NotFoundError
 */
const folder: Stage = async (context, change, next) => {
  if (change.type === 'document' || !ADDING.test(change.type)) return next(change);
  const { open } = change;
  const path = change.type === 'create' ? change.path : change.path.parent;
  const { locations: locks } = context.services;
  const isOfFolder = change.type === 'copy' && change.item.kind === 'folder';
  const original = isOfFolder ? [{ storage: storeOf(change.from), path: change.item.path }] : [];
  // No other change names what is locked: it only keeps the folders around it.
  const kept = [{ storage: storeOf(open), path }, ...original].map((one) => ({
    ...one,
    path: one.path.below(randomUUID()),
  }));
  // A copy may come from the hook of a change for which a move of the folder waits.
  const options = { isOfFile: true, isLast: change.type !== 'copy', signal: context.signal };
  return locks.hold(kept, options, async (hasWaited) => {
    const isStale = hasWaited || kept.some(locks.mayHaveLeft);
    if (isStale) open.forget(path);
    // A file that is replaced is looked up again, but its original may be stored before that.
    if (isStale || change.type !== 'replace') await open.requireFolder(path);
    return next(change);
  });
};

const INSPECTED_AT_ONCE = 4;

const inspectForm = async (context: StageContext, { open, path: folder, files, isForm }: Create) => {
  const seen = [...files];
  await forEachAtOnce(INSPECTED_AT_ONCE, files.entries(), async ([index, file]) => {
    const path = folder.child(sanitizeName(file.filename));
    seen[index] = await withFileNameIf(isForm, file.filename, () => inspected(context, open, path, file));
  });
  return seen;
};

/**
 * Has all content inspected that users upload or fetch, before it is decoded, named or stored. Content that
 * enters from another source is inspected while it is copied; restored content is not inspected.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host
 */
const inspection: Stage = async (context, change, next) => {
  if (change.type === 'create') return next({ ...change, files: await inspectForm(context, change) });
  if (change.type === 'replace')
    return next({ ...change, file: await inspected(context, change.open, change.path, change.file) });
  // The maker of the content inspected it before decoding it; the later stages take it from there.
  if (change.type === 'edit' && change.sent !== undefined)
    await inspected(context, change.open, change.path, change.sent);
  return next(change);
};

/**
 * The stages that every change passes: rights > lock > contents > inspection > hooks > folder > quota > trash
 * > store > following > names > events > describing. Each stage encloses the later ones. The last four run
 * after the change, so they stand farther outside, where they begin.
 */
const STAGES: readonly Stage[] = [
  /** Asks the host in the background to fill in missing descriptions of new pictures. */
  describing,
  /** Reports the changes that have happened. Changes nothing. */
  events,
  /** Checks the access rules at the paths of the change itself. */
  rights,
  /** Waits for other changes at the same locations, then checks again that the items exist. */
  lock,
  /** Checks the access rules for the contents of folders, while the folders are locked. */
  contents,
  /** Has clamd and the host inspect uploaded content. */
  inspection,
  /** Runs the host's hooks, which may deny the change or rename its item; then the change starts anew. */
  hooks,
  /** Keeps the folder that new content enters, until all has followed. */
  folder,
  /** Records old names for redirects, before the folder may move. */
  moved,
  /** Descriptions and thumbnails follow their files. */
  following,
  /** Reserves or frees space in the quota. */
  quota,
  /** Moves removed or replaced content into the trash, and restores it. */
  trash,
  /** Carries the change out in the store. */
  store,
];

const pass = (
  context: StageContext,
  change: Change,
  [stage, ...rest]: readonly Stage[],
): Promise<Change | undefined> =>
  stage === undefined
    ? Promise.resolve(undefined)
    : stage(context, change, (next) => pass(context, next, rest));

/** Drops cached lookups of the request at these paths. */
const forgetLookups = (change: Change, done: readonly Done[]): void => {
  if (change.type === 'document') return;
  for (const { path } of [change, ...done]) change.open.forget(path);
  if ('item' in change) change.from.forget(change.item.path);
};

const carry = async (request: ChangeContext, change: Change): Promise<readonly Done[]> => {
  const done: Done[] = [];
  const context: StageContext = { ...request, done, carry: (part, as = request) => carry(as, part) };
  try {
    for (let next: Change | undefined = change; next !== undefined;) next = await pass(context, next, STAGES);
    return done;
  } finally {
    forgetLookups(change, done);
  }
};

export function carryOut(context: ChangeContext, change: Create | Replace | Edit): Promise<readonly Stored[]>;
export function carryOut(context: ChangeContext, change: WholeChange): Promise<readonly Done[]>;
/**
 * Carries out a change. Every change that a request makes to a source goes through this function. Returns its
 * results: for a form one per file, in their order.
 * @throws AccessDeniedError, NotFoundError, AlreadyExistsError, QuotaExceededError, errors of the host, of
 * names, content and the store; the signal's reason
 */
export function carryOut(context: ChangeContext, change: WholeChange): Promise<readonly Done[]> {
  return carry(context, change).catch((error: unknown) => {
    // Another process reserves the name, which may be free afterwards.
    throw error instanceof AlreadyExistsError && error.cause instanceof BusyError ? error.cause : error;
  });
}

/** Carries out a change that stores staged files, and discards them. @throws as `carryOut` */
export const storeStaged = (context: ChangeContext, change: Create | Replace): Promise<readonly Stored[]> => {
  const files = change.type === 'create' ? change.files : [change.file];
  return carryOut(context, change).finally((): unknown =>
    Promise.all(files.map(({ staged }) => staged.discard())),
  );
};
