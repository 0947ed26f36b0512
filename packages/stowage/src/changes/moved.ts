import type { EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { walkFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import type { Noted } from '../storage/moved/memory.ts';
import { type NameEvent, type NameHistory, readHistory } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Done, StageContext, Restore, Stage, Stored } from './change.ts';

/** Number of names inside a folder that are recorded when it takes over another's name. */
const MOST_HELD = 500;
const MOST_HELD_BYTES = 24 * 1024;

interface ViewLocation {
  readonly view: SourceView;
  readonly path: SourcePath;
}

type Holds = NameEvent['holds'];

/** Names inside the folder now; 'all' beyond the limits. */
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

/**
 * The recorded histories of a name and of its parent folders. Empty when the source records none. Reading them does not
 * stop when the client leaves, since the move has already happened.
 */
const historiesOf = async ({ view, path }: ViewLocation): Promise<readonly NameHistory[]> => {
  if (view.source.settings.redirectMoved === undefined) return [];
  const histories = await Promise.all(path.ancestry().map((about) => readHistory(storeOf(view), about, {})));
  return histories.filter(({ events }) => events.length > 0);
};

const noted = (
  { holdSources: hold }: StageContext,
  { view, path }: ViewLocation,
  change: Noted['change'],
): readonly Noted[] => {
  const policy = view.source.settings.redirectMoved;
  return policy === undefined ? [] : [{ use: { store: storeOf(view), policy, hold }, path, change }];
};

/**
 * Records that an item appeared under a name. Names that came with a folder override redirects of the same
 * names below it; the folder is walked only when there are such redirects.
 */
const came = async (
  context: StageContext,
  location: ViewLocation,
  kind: EntryKind,
  histories: readonly NameHistory[],
): Promise<readonly Noted[]> => {
  const leads = histories.some(({ events }) => events.some(({ to }) => to !== undefined));
  const holds = kind === 'folder' && leads ? await heldIn(storeOf(location.view), location.path) : undefined;
  return noted(context, location, ({ events }, at) => [...events, { type: 'came', kind, at, holds }]);
};

/** The history of a name whose item was restored: the item left when it was removed, before others. */
const broughtBack = (
  events: readonly NameEvent[],
  { record: { kind, removedAt } }: Restore,
  to: NonNullable<NameEvent['to']>,
): readonly NameEvent[] => {
  const index = events.findIndex(({ at }) => at >= removedAt);
  const next = index === -1 ? undefined : events[index];
  const isRemoval = next?.type === 'left' && next.to === undefined;
  // Where the trash's clock is ahead, the departure must still not be later than the arrival.
  const left: NameEvent = { type: 'left', kind, at: isRemoval ? next.at : Math.min(removedAt, to.at), to };
  const before = index === -1 ? events : events.slice(0, index);
  return [...before, left, ...events.slice(before.length + (isRemoval ? 1 : 0))];
};

/** Records that an item has moved from one name to another, perhaps through the trash. */
const went = async (
  context: StageContext,
  from: ViewLocation,
  to: ViewLocation,
  change: Change,
  { kind, renamed = [] }: Pick<Done, 'renamed'> & { readonly kind: EntryKind },
): Promise<void> => {
  const histories = await historiesOf(to);
  const isBack = change.type === 'restore';
  const at = (location: ViewLocation) => ({ storage: storeOf(location.view), path: location.path });
  const isSame = from.view.source === to.view.source && isSameLocation(at(from), at(to));
  // Only a change of letter case in a store that ignores it, or a restored name without history.
  if (isSame && (!isBack || histories.length === 0)) return;
  const source = to.view.source.name;
  const left = noted(context, from, ({ events }, now) => {
    const arrival = { source, path: to.path, at: now };
    return isBack
      ? broughtBack(events, change, arrival)
      : [...events, { type: 'left', kind, at: now, to: arrival }];
  });
  const isKnown = left.length > 0 || histories.length > 0;
  const arrived = isKnown && !isSame ? await came(context, to, kind, histories) : [];
  // With the same time as the folder: the step of a name comes before that of its folder.
  const inside = renamed.flatMap((one) =>
    noted(context, { view: from.view, path: one.from }, ({ events }, at) => [
      ...events,
      { type: 'left', kind: one.kind, at, to: { source, path: one.to, at } },
    ]),
  );
  await context.services.names.note([...arrived, ...left, ...inside]);
};

/** Records a new name, where the name or one of its parent folders has a history. */
const appeared = async (context: StageContext, location: ViewLocation, kind: EntryKind): Promise<void> => {
  const histories = await historiesOf(location);
  if (histories.length > 0) await context.services.names.note(await came(context, location, kind, histories));
};

/** Records a removal: of a folder always, because names below it may have a history. */
const disappeared = async (context: StageContext, location: ViewLocation, kind: EntryKind): Promise<void> => {
  if (kind === 'file' && (await historiesOf(location)).length === 0) return;
  await context.services.names.note(
    noted(context, location, ({ events }, at) => [...events, { type: 'left', kind, at }]),
  );
};

/** Kind of an item that is new under its name; undefined when nothing new appeared. */
const kindOfNew = (change: Change, done: Done): EntryKind | undefined => {
  if (change.type === 'makeFolder') return 'folder';
  if (change.type === 'copy') return change.item.kind;
  // A restored old version appears as a new item.
  if (change.type === 'restore') return change.record.kind;
  const isFile = change.type === 'create' || change.type === 'edit';
  return isFile && !(done as Stored).replaced ? 'file' : undefined;
};

const remember = async (context: StageContext, change: Change, done: Done): Promise<void> => {
  if (!('open' in change)) return;
  const { open: view } = change;
  const location = { view, path: done.path };
  if (change.type === 'move' || change.type === 'rename') {
    const { from, item } = change;
    await went(context, { view: from, path: item.path }, location, change, { ...done, kind: item.kind });
  } else if (change.type === 'restore' && !change.record.replaced) {
    const { path, kind } = change.record;
    await went(context, { view, path }, location, change, { kind });
  } else if (change.type === 'remove') await disappeared(context, location, change.kind);
  else {
    const kind = kindOfNew(change, done);
    if (kind !== undefined) await appeared(context, location, kind);
  }
};

/** Records old names, so that old links lead to the new ones. Failures are logged; the change stands. */
export const moved: Stage = async (context, change, next) => {
  try {
    return await next(change);
  } finally {
    const written = context.done.map(async (done) => {
      try {
        await remember(context, change, done);
      } catch (error) {
        context.log.warn('What has moved could not be remembered.', { error });
      }
    });
    await Promise.all(written);
  }
};
