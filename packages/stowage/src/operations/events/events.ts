import { orAborted } from '../../basics/concurrency/abort.ts';
import { InternalError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { EventSink, ServiceEvent, WebhookFigures } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';
import { createRemotePoster } from '../../basics/network/remote.ts';
import type { State } from '../state/state.ts';
import { createAuditFile } from './audit-file.ts';
import { createWebhook, type WebhookSettings } from './webhook.ts';

/** Hears of changes: before they happen, and after. */
export interface Events {
  /**
   * Asks the host whether this may happen. The name that a new file or folder shall have
   * instead; undefined: its own.
   * @throws what the host throws, to refuse it
   */
  before(event: ServiceEvent): Promise<string | undefined>;
  /** Reports what has happened. Never throws: no listener can fail an action. */
  emit(event: ServiceEvent): Promise<void>;
  /** How each webhook does, in the order of the setting. */
  webhooks(): Promise<readonly WebhookFigures[]>;
  /** Waits up to ten seconds for hooks that still run, and then closes the sinks. */
  close(): Promise<void>;
}

/** How long `close()` waits for hooks of the host. */
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
      await after?.(event);
    } catch (error) {
      log.error('The hook onEvent failed.', { type: event.type, requestId: event.requestId, error });
    }
  };
  const running = new Set<Promise<void>>();
  /** Resolves when all hooks have ended, those included that begin meanwhile, or the time is over. */
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
  const hand = async (sink: EventSink, event: ServiceEvent): Promise<void> => {
    try {
      await sink.take(event);
    } catch (error) {
      log.error('An event could not be kept.', { type: event.type, requestId: event.requestId, error });
    }
  };
  return {
    before: async (event) => {
      const answer: unknown = await before?.(event);
      if (answer === undefined || answer === null) return undefined;
      if (typeof answer === 'string') return answer;
      throw new InternalError({ detail: 'the hook beforeEvent returned neither a name nor nothing' });
    },
    emit: async (event) => {
      // The answer does not wait for the host.
      const notified = notify(event).finally(() => running.delete(notified));
      running.add(notified);
      await Promise.all(sinks.map((sink) => hand(sink, event)));
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

/** Where the settings want events to go. */
export const createSinks = (
  { audit, webhooks }: Pick<Settings, 'audit' | 'webhooks'>,
  state: State,
  log: Logger,
): readonly EventSink[] => {
  const sinks: EventSink[] = audit === undefined ? [] : [createAuditFile(audit.file, log)];
  const poster = createRemotePoster();
  // Several may have one address, with other secrets or types: each has a queue of its own.
  const numberOf = ({ url }: WebhookSettings, index: number): number =>
    webhooks.slice(0, index).filter((other) => other.url === url).length;
  return [
    ...sinks,
    ...webhooks.map((one, index) => createWebhook(one, { poster, state, log, number: numberOf(one, index) })),
  ];
};
