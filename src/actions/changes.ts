import { orAborted } from '../concurrency/or-aborted.ts';
import type { EventType, ServiceEvent } from '../events/event.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';

/** What an action is about to change, or has changed. */
export interface Change {
  readonly type: EventType;
  /** Undefined for documents. */
  readonly source?: Source | undefined;
  /** Of a document its name. */
  readonly path: SourcePath;
  readonly from?: SourcePath | undefined;
  /** Where `from` lies, when that may be another source. */
  readonly fromSource?: Source | undefined;
  readonly bytes?: number | undefined;
}

const eventOf = ({ requester }: ActionContext, change: Change): ServiceEvent => {
  const { type, source, path, from, fromSource, bytes } = change;
  const { requestId, role, subject } = requester;
  return {
    type,
    time: new Date().toISOString(),
    requestId,
    tenant: source?.tenant,
    source: source?.name,
    path: path.toString(),
    from: from?.toString(),
    fromSource: fromSource?.name === source?.name ? undefined : fromSource?.name,
    bytes,
    role,
    subject,
  };
};

/**
 * Asks the host before a change; every action that changes something does, when all else allows it. The
 * other name that a new, moved or copied file or folder shall have; undefined: its own.
 * @throws HttpError of the host; the signal's reason when the client leaves a host that does not answer
 */
export const announce = (context: ActionContext, change: Change): Promise<string | undefined> =>
  orAborted(context.services.events.before(eventOf(context, change)), context.signal);

/** Reports a change that has happened. Never throws. */
export const report = (context: ActionContext, change: Change): Promise<void> =>
  context.services.events.emit(eventOf(context, change));
