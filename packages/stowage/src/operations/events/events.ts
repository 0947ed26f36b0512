import { orAborted } from '../../basics/concurrency/abort.ts';
import { InternalError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { EventSink, ServiceEvent, WebhookFigures } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';
import { createRemotePoster } from '../../basics/network/remote.ts';
import type { State } from '../state/state.ts';
import { createAuditFile } from './audit-file.ts';
import { createWebhook, type WebhookSettings } from './webhook.ts';

/** Notifies the host and event sinks of changes, before and after they happen. */
export interface Events {
  /**
   * Asks the host whether a change is allowed. Returns another name for a new file or folder, if any.
   * @throws the host's error, which rejects the change
   */
  before(event: ServiceEvent): Promise<string | undefined>;
  /** Reports a change. Never throws: listeners cannot make an action fail. */
  emit(event: ServiceEvent): Promise<void>;
  /** State of each webhook, in the order of the setting. */
  webhooks(): Promise<readonly WebhookFigures[]>;
  /** Waits up to ten seconds for running hooks, then closes the sinks. */
  close(): Promise<void>;
}

/** Longest wait of `close()` for hooks of the host. */
const HOOKS_MS = 10_000;

export interface EventsParts {
  readonly before: ((event: ServiceEvent) => unknown) | undefined;
  readonly after: ((event: ServiceEvent) => unknown) | undefined;
  readonly sinks: readonly EventSink[];
  readonly log: Logger;
}

export const createEvents = ({ before, after, sinks, log }: EventsParts): Events => {
  const notify = async (event: ServiceEvent): Promise<void> => {
    try {
      // A copy: what the host changes in it must not reach the audit file and the webhooks.
      await after?.(structuredClone(event));
    } catch (error) {
      log.error('The hook onEvent failed.', { type: event.type, requestId: event.requestId, error });
    }
  };
  const running = new Set<Promise<void>>();
  /** Resolves when all hooks have ended, including those started meanwhile, or when the time is over. */
  const untilHooksEnd = async (): Promise<void> => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), HOOKS_MS);
    try {
      while (running.size > 0) await orAborted(Promise.all(running), late.signal);
    } catch {
      log.error('The hook onEvent did not end in time: events may be lost.', { running: running.size });
    } finally {
      clearTimeout(timer);
    }
  };
  const deliver = async (sink: EventSink, event: ServiceEvent): Promise<void> => {
    try {
      await sink.take(event);
    } catch (error) {
      log.error('An event could not be kept.', { type: event.type, requestId: event.requestId, error });
    }
  };
  return {
    before: async (event) => {
      const returned: unknown = await before?.(event);
      if (returned === undefined || returned === null) return undefined;
      if (typeof returned === 'string') return returned;
      throw new InternalError({ detail: 'the hook beforeEvent returned neither a name nor nothing' });
    },
    emit: async (event) => {
      // The response does not wait for the host.
      const notified = notify(event).finally(() => running.delete(notified));
      running.add(notified);
      await Promise.all(sinks.map((sink) => deliver(sink, event)));
    },
    webhooks: async () => {
      const figures = await Promise.all(sinks.map(async (sink) => sink.figures?.()));
      return figures.filter((one) => one !== undefined);
    },
    close: async () => {
      await untilHooksEnd();
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
};

/** Creates the configured event sinks. */
export const createSinks = (
  { audit, webhooks }: Pick<Settings, 'audit' | 'webhooks'>,
  state: State,
  log: Logger,
): readonly EventSink[] => {
  const sinks: EventSink[] = audit === undefined ? [] : [createAuditFile(audit.file, log)];
  const poster = createRemotePoster();
  // Several webhooks may have the same URL, with different secrets or types: each has its own queue.
  const numberOf = ({ url }: WebhookSettings, index: number): number =>
    webhooks.slice(0, index).filter((other) => other.url === url).length;
  return [
    ...sinks,
    ...webhooks.map((one, index) => createWebhook(one, { poster, state, log, number: numberOf(one, index) })),
  ];
};
