import { orAborted } from '../basics/concurrency/abort.ts';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import type { EventType, ServiceEvent } from '../config/event.ts';
import { containsLocation, type Located } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type Addressed, addressesOf } from '../view/links.ts';
import { storeOf } from '../view/writable.ts';
import type {
  Change,
  ChangeContext,
  Create,
  Done,
  MakeFolder,
  Requester,
  StageContext,
  Stage,
  Stored,
  Transfer,
} from './change.ts';
import { checkName, newFolderName, renamedName } from './new-name.ts';
import { type UploadedFile, withFileNameIf } from './uploaded-file.ts';

const NAMES = {
  makeFolder: 'folder.created',
  emptyTrash: 'trash.emptied',
  create: 'file.created',
  replace: 'file.replaced',
  edit: 'image.edited',
  describe: 'file.described',
  document: 'document.made',
  put: undefined,
} as const;

/** Event type of a change; undefined when it is reported as a part of another. */
const typeOf = (change: Change): EventType | undefined => {
  if (change.type === 'remove') return `${change.kind}.removed`;
  if (change.type === 'restore') return `${change.record.kind}.restored`;
  if (change.type === 'erase') return 'isPart' in change ? undefined : 'trash.removed';
  if ('item' in change) return `${change.item.kind}.${change.type === 'copy' ? 'copied' : 'moved'}`;
  return NAMES[change.type];
};

const originOf = (change: Change): Pick<ServiceEvent, 'from' | 'fromSource'> => {
  if (change.type === 'restore') return { from: change.record.path.toString() };
  if (change.type === 'edit') return { from: change.from?.toString() };
  if (!('item' in change)) return {};
  const { name } = change.from.source;
  const fromSource = name === change.open.source.name ? undefined : name;
  return { from: change.item.path.toString(), fromSource };
};

/** The event for hooks and sinks; undefined when the change is reported as a part of another. */
const eventOf = ({ requester }: ChangeContext, change: Change, { path, bytes, inspection }: Done) => {
  const type = typeOf(change);
  if (type === undefined) return undefined;
  const { requestId, role, subject } = requester;
  const source = 'open' in change ? change.open.source : undefined;
  return {
    type,
    time: new Date().toISOString(),
    requestId,
    tenant: source?.tenant,
    source: source?.name,
    path: path.toString(),
    from: undefined,
    fromSource: undefined,
    ...originOf(change),
    bytes,
    inspection,
    role,
    subject,
  } satisfies ServiceEvent;
};

/** Items that have URLs after a change, and items that had other URLs before it. */
const addressedBy = (change: Change, { path }: Done): { now?: Addressed; before?: Addressed } => {
  const { type } = change;
  // Items in the trash have no URL.
  if (type === 'document' || type === 'erase' || type === 'emptyTrash') return {};
  const { source } = change.open;
  if (type === 'remove') return { before: { source, path, kind: change.kind } };
  if (type === 'restore') {
    const { kind, path: old } = change.record;
    const now = { source, path, kind };
    return old.equals(path) ? { now } : { now, before: { source, path: old, kind } };
  }
  if (!('item' in change)) return { now: { source, path, kind: type === 'makeFolder' ? 'folder' : 'file' } };
  const { from, item } = change;
  const now = { source, path, kind: item.kind };
  return type === 'copy'
    ? { now }
    : { now, before: { source: from.source, path: item.path, kind: item.kind } };
};

const linksOf = ({ services: { thumbnails } }: StageContext, change: Change, done: Done) => {
  const { now, before } = addressedBy(change, done);
  return {
    links: now && addressesOf(thumbnails, now),
    oldLinks: before && addressesOf(thumbnails, before),
  } satisfies Partial<ServiceEvent>;
};

/** The results to report: for an emptied trash one sum. */
const reportable = (change: Change, done: readonly Done[]): readonly Done[] =>
  change.type === 'emptyTrash' && done.length > 0
    ? [{ path: change.path, bytes: done.reduce((sum, { bytes = 0 }) => sum + bytes, 0) }]
    : done;

const isReplacing = (change: Change, done: Done): boolean =>
  change.type === 'create' && (done as Stored).replaced;

const REPORTED_AT_ONCE = 16;

/**
 * Reports what has happened, also when the rest of the change has failed; a file that another request changes
 * before the end is reported before that change. Reporting never fails.
 */
export const events: Stage = async (context, change, next) => {
  const { events: all, unreported } = context.services;
  if (!all.reports || typeOf(change) === undefined) return next(change);
  const reported = new Set<unknown>();
  const report = (isDue: (one: Done) => boolean): Promise<void> =>
    // They keep their order. Each is synced to disk for webhooks.
    forEachAtOnce(REPORTED_AT_ONCE, reportable(change, context.done.filter(isDue)), async (done) => {
      const event = eventOf(context, change, done);
      // A form may store two files under one name if another request removes the first. Later stages replace
      // `done` by a copy.
      const key = 'stat' in done ? done.stat : done.path;
      if (event === undefined || reported.has(key)) return;
      reported.add(key);
      const type = isReplacing(change, done) ? 'file.replaced' : event.type;
      await all.emit({ ...event, type, ...linksOf(context, change, done) });
    });
  const reportEarly = async (locations: readonly Located[], by: Requester): Promise<void> => {
    if (by === context.requester || change.type === 'document' || change.type === 'emptyTrash') return;
    const storage = storeOf(change.open);
    await report(({ path }) => locations.some((one) => containsLocation(one, { storage, path })));
  };
  unreported.add(reportEarly);
  try {
    return await next(change);
  } finally {
    await report(() => true);
    unreported.delete(reportEarly);
  }
};

/** Runs the hook of the host. Returns the name that it wants instead; undefined to keep the current one. */
const ask = async (context: StageContext, change: Change, about: Done): Promise<string | undefined> => {
  if (!context.services.events.asks) return undefined;
  const event = eventOf(context, change, about);
  return event && orAborted(context.services.events.before(event), context.signal);
};

const bytesOf = (change: Change): number | undefined => {
  if ('item' in change) return change.item.stat.size;
  if ('record' in change) return change.record.bytes;
  if (change.type === 'replace') return change.file.staged.size;
  return change.type === 'edit' ? change.bytes : undefined;
};

const renamed = (change: MakeFolder | Transfer, other: string): SourcePath => {
  const { open, path } = change;
  const { settings } = open.source;
  if (change.type === 'makeFolder') return path.parent.child(newFolderName(settings, other));
  const { item, from } = change;
  // An item from another source keeps the extension that is allowed here.
  const { name } = from.source === open.source ? item.path : path;
  return path.parent.child(renamedName(settings, { kind: item.stat.kind, name }, other));
};

const askForFiles = async (context: StageContext, change: Create): Promise<Create> => {
  const { open, path: folder, keys } = change;
  const files: UploadedFile[] = [];
  for (const file of change.files)
    await withFileNameIf(change.isForm, file.filename, async () => {
      const path = folder.child(checkName(open, folder, file.filename, keys));
      const about = { path, bytes: file.staged.size, inspection: file.inspection };
      const otherName = await ask(context, change, about);
      if (otherName !== undefined) checkName(open, folder, otherName, keys);
      files.push({ ...file, otherName });
    });
  return { ...change, files };
};

/**
 * Asks the host after all other checks, before anything changes. With another name for a new, moved or copied
 * item the change starts anew; an uploaded file continues under the new name.
 * @throws HttpError of the host; the signal's reason when the client leaves while the host is waited for; for
 * names from the host the same errors as for names from clients
 */
export const hooks: Stage = async (context, change, next) => {
  if (change.type === 'create') return next(await askForFiles(context, change));
  if ('isAsked' in change && change.isAsked === true) return next(change);
  const other = await ask(context, change, { path: change.path, bytes: bytesOf(change) });
  const isNamed = change.type === 'makeFolder' || 'item' in change;
  if (other === undefined || !isNamed) return next(change);
  const path = renamed(change, other);
  return path.equals(change.path) ? next(change) : { ...change, path, isAsked: true };
};
