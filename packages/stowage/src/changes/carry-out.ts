import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import { sanitizeName } from '../basics/content/file-name.ts';
import type { Located } from '../storage/location.ts';
import { findInTrash, trashLocation } from '../storage/trash/trashed.ts';
import { missing } from '../view/folder-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, ChangeContext, Create, Done, Edit, Passage, Replace, Stage, Stored } from './change.ts';
import { describing } from './describing.ts';
import { events, hooks } from './events.ts';
import { following } from './follow.ts';
import { moved } from './moved.ts';
import { quota } from './quota.ts';
import { contents, rights } from './rights.ts';
import { store } from './store.ts';
import { trash } from './trash.ts';
import { inspected, type UploadedFile, withFileNameIf } from './uploaded-file.ts';

/** What a change takes away from its location, or puts over what is there. */
const locationsOf = (change: Change): readonly Located[] => {
  if (change.type === 'document') return [];
  const storage = storeOf(change.open);
  const target = { storage, path: change.path };
  if (change.type === 'remove' || change.type === 'describe') return [target];
  if (change.type === 'put') return change.createOnly === true ? [] : [target];
  if (change.type === 'move' || change.type === 'rename')
    return [{ storage: storeOf(change.from), path: change.item.path }, target];
  if (change.type === 'restore') return [trashLocation(storage, change.record), target];
  return change.type === 'erase' ? [trashLocation(storage, change.record)] : [];
};

/** What was there before the waiting may be gone. @throws NotFoundError */
const lookAgain = async (passage: Passage, change: Change, hasWaited: boolean): Promise<void> => {
  const { signal } = passage;
  if (change.type === 'restore' || change.type === 'erase') {
    const { open, record } = change;
    const isSeen = !hasWaited && record.seen !== undefined;
    if (!isSeen && (await findInTrash(storeOf(open), record.id, { signal })) === undefined)
      throw missing('file or folder');
  }
  const mustExist = change.type === 'describe' || (change.type === 'put' && change.mustExist === true);
  if (mustExist) {
    change.open.forget(change.path);
    await change.open.look(change.path, 'file');
  }
  if (hasWaited && change.type === 'remove') {
    change.open.forget(change.path);
    await change.open.look(change.path, change.kind);
  }
  if (hasWaited && (change.type === 'move' || change.type === 'rename')) {
    // Stores make a missing folder in passing.
    change.open.forget(change.path.parent);
    await change.open.requireFolder(change.path.parent, 'destination folder');
  }
};

/**
 * Holds what the change takes away or replaces until it is done: no version is lost between two of them, also
 * where the store cannot tell versions apart.
 */
const lock: Stage = (passage, change, next) => {
  const locations = locationsOf(change);
  if (locations.length === 0) return next(change);
  return passage.services.locations.hold(locations, passage, async (hasWaited) => {
    await lookAgain(passage, change, hasWaited);
    return next(change);
  });
};

const INSPECTED_AT_ONCE = 4;

const inspectForm = async (
  passage: Passage,
  { open, path: folder, files, isForm }: Create,
): Promise<readonly UploadedFile[]> => {
  const seen = [...files];
  await forEachAtOnce(INSPECTED_AT_ONCE, files.entries(), async ([index, file]) => {
    const path = folder.child(sanitizeName(file.filename));
    seen[index] = await withFileNameIf(isForm, file.filename, () => inspected(passage, open, path, file));
  });
  return seen;
};

/**
 * Has all content looked at that users send or fetch, as it came, before it is decoded, named or stored. What
 * enters from another source is looked at while it is copied; what is restored is not.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host
 */
const inspection: Stage = async (passage, change, next) => {
  if (change.type === 'create') return next({ ...change, files: await inspectForm(passage, change) });
  if (change.type === 'replace')
    return next({ ...change, file: await inspected(passage, change.open, change.path, change.file) });
  // The stages behind it get the content from who made the change: it was looked at before it was decoded.
  if (change.type === 'edit' && change.sent !== undefined)
    await inspected(passage, change.open, change.path, change.sent);
  return next(change);
};

/**
 * What every change passes: rights > lock > contents > inspection > hooks > quota > trash > store > names >
 * following > events > describing. Each stage encloses those below it; the four that follow what has happened stand
 * where they begin.
 */
const STAGES: readonly Stage[] = [
  /** Has the host fill what is not said about new pictures, in the background. */
  describing,
  /** Tells what has happened, and nothing else. */
  events,
  /** The access rules at the paths themselves. */
  rights,
  /** Waits for others that move, replace or remove the same, and looks again. */
  lock,
  /** Words and thumbnails follow their files. */
  following,
  /** Remembers what had which name. */
  moved,
  /** The access rules for what a folder holds, while nothing else moves it. */
  contents,
  /** Has clamd and the host look at what users send. */
  inspection,
  /** Asks the host, who may refuse, or give another name: then it begins anew with that. */
  hooks,
  /** The room that it takes, or gives back. */
  quota,
  /** Keeps what is removed or replaced, and brings it back. */
  trash,
  /** Does it. */
  store,
];

const pass = (
  passage: Passage,
  change: Change,
  [stage, ...rest]: readonly Stage[],
): Promise<Change | undefined> =>
  stage === undefined
    ? Promise.resolve(undefined)
    : stage(passage, change, (next) => pass(passage, next, rest));

/** What the request has seen at these paths is not so any more. */
const forgetLooks = (change: Change, done: readonly Done[]): void => {
  if (change.type === 'document') return;
  for (const { path } of [change, ...done]) change.open.forget(path);
  if ('item' in change) change.from.forget(change.item.path);
};

export function carryOut(context: ChangeContext, change: Create | Replace | Edit): Promise<readonly Stored[]>;
export function carryOut(context: ChangeContext, change: Change): Promise<readonly Done[]>;
/**
 * Carries out a change: the only way by which anything in a source is changed for a request. What has come of
 * it comes back: of a form each file, in their order.
 * @throws AccessDeniedError, NotFoundError, AlreadyExistsError, QuotaExceededError, errors of the host, of names,
 *   content and the store; the signal's reason
 */
export async function carryOut(context: ChangeContext, change: Change): Promise<readonly Done[]> {
  const done: Done[] = [];
  const passage: Passage = { ...context, done, carry: (part, as = context) => carryOut(as, part) };
  try {
    for (let next: Change | undefined = change; next !== undefined;) next = await pass(passage, next, STAGES);
    return done;
  } finally {
    forgetLooks(change, done);
  }
}
