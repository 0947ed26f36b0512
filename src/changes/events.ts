import type { EventType, ServiceEvent } from '../events/event.ts';
import type { Change, Done, Stage, Stored } from './change.ts';
import type { ChangeContext } from './context.ts';

/** What a change is called; undefined: it is told as a part of another. */
const typeOf = (change: Change): EventType | undefined => {
  switch (change.type) {
    case 'makeFolder':
      return 'folder.created';
    case 'remove':
      return `${change.kind}.removed`;
    case 'move':
    case 'rename':
      return `${change.item.stat.kind}.moved`;
    case 'copy':
      return `${change.item.stat.kind}.copied`;
    case 'restore':
      return `${change.record.kind}.restored`;
    case 'erase':
      return change.isPart === true ? undefined : 'trash.removed';
    case 'emptyTrash':
      return 'trash.emptied';
    case 'create':
      return 'file.created';
    case 'edit':
      return 'image.edited';
    case 'put':
      return undefined;
    case 'document':
      return 'document.made';
  }
};

const originOf = (change: Change): Pick<ServiceEvent, 'from' | 'fromSource'> => {
  if (change.type === 'restore') return { from: change.record.path.toString() };
  if (change.type === 'edit') return { from: change.from?.toString() };
  if (!('item' in change)) return {};
  const { name } = change.from.source;
  const fromSource = name === change.open.source.name ? undefined : name;
  return { from: change.item.path.toString(), fromSource };
};

/** What hooks and sinks are told of a change; undefined where it is told as a part of another. */
export const eventOf = (
  { requester }: ChangeContext,
  change: Change,
  { path, bytes }: Done,
): ServiceEvent | undefined => {
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
    role,
    subject,
  };
};

/** What is told of what has happened: of an emptied trash all at once. */
const toldOf = (change: Change, done: readonly Done[]): readonly Done[] =>
  change.type === 'emptyTrash' && done.length > 0
    ? [{ path: change.path, bytes: done.reduce((sum, { bytes = 0 }) => sum + bytes, 0) }]
    : done;

const isReplacing = (change: Change, done: Done): boolean =>
  change.type === 'create' && (done as Stored).replaced;

/** Reports what has happened, also when the rest of the change has failed. Reporting never fails. */
export const events: Stage = async (passage, change, next) => {
  try {
    return await next(change);
  } finally {
    for (const done of toldOf(change, passage.done)) {
      const event = eventOf(passage, change, done);
      if (event === undefined) continue;
      await passage.services.events.emit(
        isReplacing(change, done) ? { ...event, type: 'file.replaced' } : event,
      );
    }
  }
};
