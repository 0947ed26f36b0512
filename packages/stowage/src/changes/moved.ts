import type { EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { walkFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import type { Noted } from '../storage/moved/memory.ts';
import type { NameEvent, NameHistory } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Done, Passage, Restore, Stage, Stored } from './change.ts';

/** Names in a folder that are remembered with it when it takes the name of another. */
const MOST_HELD = 500;
const MOST_HELD_BYTES = 24 * 1024;

interface ViewLocation {
  readonly view: SourceView;
  readonly path: SourcePath;
}

type Holds = NameEvent['holds'];

/** What a folder holds now; all names where these are too many. */
const heldIn = async (storage: StorageAdapter, folder: SourcePath): Promise<Holds> => {
  const names: string[] = [];
  let bytes = 0;
  for await (const { path } of walkFolder(storage, folder, { detail: 'names', isTolerant: true })) {
    const name = folder.relative(path).toString();
    bytes += Buffer.byteLength(name);
    if (names.length === MOST_HELD || bytes > MOST_HELD_BYTES) return 'all';
    names.push(name);
  }
  return names;
};

/** What is remembered of a name and of the folders above it, as far as the source remembers anything. */
const historiesOf = async ({ view, path }: ViewLocation): Promise<readonly NameHistory[]> => {
  if (view.source.settings.redirectMoved === undefined) return [];
  const histories = await Promise.all(path.ancestry().map((about) => view.history(about)));
  return histories.filter(({ events }) => events.length > 0);
};

const noted = (
  { holdSources: hold }: Passage,
  { view, path }: ViewLocation,
  change: Noted['change'],
): readonly Noted[] => {
  const policy = view.source.settings.redirectMoved;
  return policy === undefined ? [] : [{ use: { store: storeOf(view), policy, hold }, path, change }];
};

/**
 * Something came under a name. What came with a folder takes the names below that still lead elsewhere; to know
 * it, the folder is looked through, where there are such names.
 */
const came = async (
  passage: Passage,
  location: ViewLocation,
  kind: EntryKind,
  histories: readonly NameHistory[],
): Promise<readonly Noted[]> => {
  const leads = histories.some(({ events }) => events.some(({ to }) => to !== undefined));
  const holds = kind === 'folder' && leads ? await heldIn(storeOf(location.view), location.path) : undefined;
  return noted(passage, location, ({ events }, at) => [...events, { type: 'came', kind, at, holds }]);
};

/**
 * The history of a name whose item is back from the trash: it has gone where it is now when it was removed,
 * before all that has had the name since.
 */
const broughtBack = (
  events: readonly NameEvent[],
  { record: { kind, removedAt } }: Restore,
  to: NonNullable<NameEvent['to']>,
): readonly NameEvent[] => {
  const index = events.findIndex(({ at }) => at >= removedAt);
  const next = index === -1 ? undefined : events[index];
  const isRemoval = next?.type === 'left' && next.to === undefined;
  // Where the clock of the trash is ahead, it still has not left after it arrived.
  const left: NameEvent = { type: 'left', kind, at: isRemoval ? next.at : Math.min(removedAt, to.at), to };
  const before = index === -1 ? events : events.slice(0, index);
  return [...before, left, ...events.slice(before.length + (isRemoval ? 1 : 0))];
};

/** Something has left one name for another, perhaps by way of the trash. */
const went = async (
  passage: Passage,
  from: ViewLocation,
  to: ViewLocation,
  change: Change,
  kind: EntryKind,
): Promise<void> => {
  const histories = await historiesOf(to);
  const isBack = change.type === 'restore';
  const at = (location: ViewLocation) => ({ storage: storeOf(location.view), path: location.path });
  const isSame = from.view.source === to.view.source && isSameLocation(at(from), at(to));
  // Another letter case where that makes no other name, or nothing is recorded of a name that is in use again.
  if (isSame && (!isBack || histories.length === 0)) return;
  const source = to.view.source.name;
  const left = noted(passage, from, ({ events }, now) => {
    const arrival = { source, path: to.path, at: now };
    return isBack
      ? broughtBack(events, change, arrival)
      : [...events, { type: 'left', kind, at: now, to: arrival }];
  });
  const isKnown = left.length > 0 || histories.length > 0;
  const arrived = isKnown && !isSame ? await came(passage, to, kind, histories) : [];
  await passage.services.names.note([...arrived, ...left]);
};

/** Something new has a name. It is written down where the name, or a folder above it, has a history. */
const appeared = async (passage: Passage, location: ViewLocation, kind: EntryKind): Promise<void> => {
  const histories = await historiesOf(location);
  if (histories.length > 0) await passage.services.names.note(await came(passage, location, kind, histories));
};

/** Something was removed: of folders it is always written down, because names below may have a history. */
const disappeared = async (passage: Passage, location: ViewLocation, kind: EntryKind): Promise<void> => {
  if (kind === 'file' && (await historiesOf(location)).length === 0) return;
  await passage.services.names.note(
    noted(passage, location, ({ events }, at) => [...events, { type: 'left', kind, at }]),
  );
};

/** Of what kind something new is that has got a name; undefined: it keeps one, or has none. */
const kindOfNew = (change: Change, done: Done): EntryKind | undefined => {
  if (change.type === 'makeFolder') return 'folder';
  if (change.type === 'copy') return change.item.kind;
  // An old version comes back as something new.
  if (change.type === 'restore') return change.record.kind;
  const isFile = change.type === 'create' || change.type === 'edit';
  return isFile && !(done as Stored).replaced ? 'file' : undefined;
};

const remember = async (passage: Passage, change: Change, done: Done): Promise<void> => {
  if (!('open' in change)) return;
  const { open: view } = change;
  const location = { view, path: done.path };
  if (change.type === 'move' || change.type === 'rename') {
    const { from, item } = change;
    await went(passage, { view: from, path: item.path }, location, change, item.kind);
  } else if (change.type === 'restore' && !change.record.replaced) {
    const { path, kind } = change.record;
    await went(passage, { view, path }, location, change, kind);
  } else if (change.type === 'remove') await disappeared(passage, location, change.kind);
  else {
    const kind = kindOfNew(change, done);
    if (kind !== undefined) await appeared(passage, location, kind);
  }
};

/**
 * Remembers which name something has left for which, so that old links lead to it. A memory that fails is
 * logged: the change stands.
 */
export const moved: Stage = async (passage, change, next) => {
  try {
    return await next(change);
  } finally {
    const written = passage.done.map(async (done) => {
      try {
        await remember(passage, change, done);
      } catch (error) {
        passage.log.warn('What has moved could not be remembered.', { error });
      }
    });
    await Promise.all(written);
  }
};
