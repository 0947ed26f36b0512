import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log/logger.ts';
import type { RemotePoster } from '../remote/post.ts';
import { createFileQueue, type QueueEntry } from '../state/file-queue.ts';
import type { EventSink, EventType } from './event.ts';

const MAX_WAITING = 10_000;
const TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 5 * 60_000;
/** Older events are given up, so that a receiver that is gone does not keep them for ever. */
const MAX_AGE_MS = 24 * 60 * 60_000;

/** One receiver; see the setting `webhooks`. */
export interface WebhookSettings {
  readonly url: string;
  readonly secret: string;
  /** Undefined: all. */
  readonly events?: readonly EventType[] | undefined;
  readonly allowPrivate: boolean;
}

/** What webhooks need of their connector. */
export interface WebhookParts {
  readonly poster: RemotePoster;
  readonly stateDirectory: string;
  readonly log: Logger;
  /** How many before it have the same address. */
  readonly number: number;
}

/** The signature of a delivery: over the time and the body, so that an old one cannot be sent again. */
const signatureOf = (secret: string, timestamp: string, body: string): string =>
  createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');

const headersFor = (secret: string, id: string, body: string): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    'content-type': 'application/json',
    'x-stowage-delivery': id,
    'x-stowage-timestamp': timestamp,
    'x-stowage-signature': `sha256=${signatureOf(secret, timestamp, body)}`,
  };
};

/**
 * Posts events to a receiver, in their order and one at a time, until it answers with 2xx: at least once.
 * What waits lies on disk and is sent after a restart. Between attempts it waits from a second to five
 * minutes; what could not be delivered for a day is given up, with a line in the log.
 */
export const createWebhook = (
  { url, secret, events, allowPrivate }: WebhookSettings,
  { poster, stateDirectory, log, number }: WebhookParts,
): EventSink => {
  const { host } = new URL(url);
  const address = number === 0 ? url : `${url} ${String(number)}`;
  const folder = createHash('sha256').update(address).digest('hex').slice(0, 32);
  const queue = createFileQueue(join(stateDirectory, 'webhooks', folder), MAX_WAITING);
  const closing = new AbortController();
  const { signal } = closing;
  let wake = (): void => undefined;
  let failures = 0;

  const pause = (milliseconds: number): Promise<void> =>
    delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);

  const deliver = async ({ id, value, addedAt }: QueueEntry): Promise<void> => {
    try {
      const body = JSON.stringify(value);
      const headers = headersFor(secret, id, body);
      const status = await poster.post(url, { body, headers, timeoutMs: TIMEOUT_MS, allowPrivate, signal });
      if (status < 200 || status > 299) throw new Error(`The receiver answered ${String(status)}.`);
      failures = 0;
      await queue.remove(id);
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      if (failures === 1) log.warn('A webhook cannot be delivered; it is tried again.', { host, error });
      if (Date.now() - addedAt > MAX_AGE_MS) {
        log.error('A webhook was given up after a day.', { host, delivery: id, error });
        await queue.remove(id);
      }
      const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
      await pause(wait);
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const arrival = new Promise<void>((resolve) => (wake = resolve));
      try {
        const entry = await queue.first();
        await (entry === undefined ? arrival : deliver(entry));
      } catch (error) {
        log.error('The queue of a webhook cannot be used; it is tried again.', { host, error });
        await pause(LAST_RETRY_MS);
      }
    }
  };
  const running = run();

  return {
    take: async (event) => {
      if (events !== undefined && !events.includes(event.type)) return;
      await queue.add(event);
      wake();
    },
    close: async () => {
      closing.abort();
      wake();
      await running;
    },
  };
};
