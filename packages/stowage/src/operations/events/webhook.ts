import { createHash, createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Records, State } from '../state/state.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { RemotePoster } from '../../basics/network/remote.ts';
import type { DurableQueue, QueueEntry } from '../state/file-queue.ts';
import type { EventSink, EventType, ServiceEvent, WebhookFigures } from '../../config/event.ts';

interface Holding {
  readonly by: string;
  readonly until: number;
}

/** Something that one of several does at a time. */
export interface Lease {
  /** Takes it, or keeps it, for so long. False: another instance has it. */
  claim(milliseconds: number): Promise<boolean>;
  /** Gives it back; nothing happens when another instance has it. */
  release(): Promise<void>;
}

/** The lease of this name, which ends by itself when its holder does not renew it. */
export const createLease = (records: Records, key: string): Lease => {
  const owner = randomUUID();
  let isHeld = false;
  return {
    claim: async (milliseconds) => {
      isHeld = await records.change<Holding, boolean>(key, (holding, now) => {
        if (holding !== undefined && holding.by !== owner && holding.until > now) return [holding, false];
        return [{ by: owner, until: now + milliseconds }, true];
      });
      return isHeld;
    },
    release: async () => {
      if (!isHeld) return;
      isHeld = false;
      await records.change<Holding, void>(key, (holding) => [
        holding?.by === owner ? undefined : holding,
        undefined,
      ]);
    },
  };
};

const MAX_WAITING = 10_000;
const TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 5 * 60_000;
/** How long one instance sends alone; longer than an attempt takes. Then another may go on. */
const LEASE_MS = 20_000;
/** Between two looks for what other instances have left behind. */
const LOOK_MS = 2000;
/** Older events are given up, so that a receiver that is gone does not keep them for ever. */
const MAX_AGE_MS = 24 * 60 * 60_000;

const isStale = (addedAt: number): boolean => Date.now() - addedAt > MAX_AGE_MS;

/** One receiver; see the setting `webhooks`. */
export interface WebhookSettings {
  readonly url: string;
  /** Each signs every delivery. */
  readonly secret: readonly string[];
  /** Undefined: all. */
  readonly events?: readonly EventType[] | undefined;
  readonly allowPrivate: boolean;
}

/** What webhooks need of their connector. */
export interface WebhookParts {
  readonly poster: RemotePoster;
  readonly state: State;
  readonly log: Logger;
  /** How many before it have the same address. */
  readonly number: number;
}

/** The signature of a delivery: over the time and the body, so that an old one cannot be sent again. */
const signatureOf = (secret: string, timestamp: string, body: string): string =>
  createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');

const headersFor = (
  secrets: readonly string[],
  id: string,
  body: string,
): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signatures = secrets.map((secret) => `sha256=${signatureOf(secret, timestamp, body)}`);
  return {
    'content-type': 'application/json',
    'x-stowage-delivery': id,
    'x-stowage-timestamp': timestamp,
    'x-stowage-signature': signatures.join(', '),
  };
};

class Webhook implements EventSink {
  readonly #settings: WebhookSettings;
  readonly #parts: WebhookParts;
  readonly #host: string;
  readonly #queue: DurableQueue;
  readonly #lease: Lease;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #waking = new AbortController();
  readonly #counts = { delivered: 0, failed: 0, dropped: 0 };
  #failures = 0;
  #isBroken = false;

  constructor(settings: WebhookSettings, parts: WebhookParts) {
    const { url } = settings;
    const { number, state } = parts;
    this.#settings = settings;
    this.#parts = parts;
    this.#host = new URL(url).host;
    const address = number === 0 ? url : `${url} ${String(number)}`;
    const name = createHash('sha256').update(address).digest('hex').slice(0, 32);
    this.#queue = state.queue(name, MAX_WAITING);
    this.#lease = createLease(state.records, `sender:${name}`);
    this.#running = this.#run();
  }

  async take(event: ServiceEvent): Promise<void> {
    const { events } = this.#settings;
    if (events !== undefined && !events.includes(event.type)) return;
    try {
      await this.#queue.add(event);
    } catch (error) {
      this.#counts.dropped += 1;
      throw error;
    }
    this.#waking.abort();
  }

  async figures(): Promise<WebhookFigures> {
    const state = await this.#queue.waiting().catch(() => undefined);
    const { oldestAt } = state ?? {};
    const age = oldestAt === undefined ? 0 : Math.max(0, Date.now() - oldestAt) / 1000;
    const known = state && { waiting: state.entries, oldestSeconds: age };
    return { host: this.#host, waiting: undefined, oldestSeconds: undefined, ...known, ...this.#counts };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#waking.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log } = this.#parts;
    const host = this.#host;
    while (!this.#closing.signal.aborted) {
      this.#waking = new AbortController();
      try {
        const entry = await this.#next();
        this.#isBroken = false;
        if (entry !== undefined) {
          await this.#deliver(entry);
          continue;
        }
        await this.#lease.release();
        await this.#pause(LOOK_MS, this.#waking.signal);
      } catch (error) {
        if (!this.#isBroken)
          log.error('The queue of a webhook cannot be used; it is tried again.', { host, error });
        this.#isBroken = true;
        await this.#pause(LOOK_MS);
      }
    }
    await this.#lease.release().catch(() => undefined);
  }

  /** What this instance is to send now. */
  async #next(): Promise<QueueEntry | undefined> {
    if ((await this.#queue.first()) === undefined || !(await this.#lease.claim(LEASE_MS))) return undefined;
    // The last holder of the lease may have sent what was the first.
    return this.#queue.first();
  }

  async #deliver({ id, value, addedAt }: QueueEntry): Promise<void> {
    const { log } = this.#parts;
    const host = this.#host;
    try {
      await this.#post(id, JSON.stringify(value));
      this.#failures = 0;
      this.#counts.delivered += 1;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failures += 1;
      this.#counts.failed += 1;
      if (this.#failures === 1)
        log.warn('A webhook cannot be delivered; it is tried again.', { host, error });
      if (isStale(addedAt)) await this.#giveUpStale(error);
      const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
      // Others would begin with a wait of a second.
      await this.#lease.claim(wait + LEASE_MS);
      await this.#pause(wait);
      return;
    }
    await this.#queue.remove(id);
  }

  /** Gives up all that is too old in one step: what is newer would be refused while the queue is full. */
  async #giveUpStale(error: unknown): Promise<void> {
    let dropped = 0;
    for (
      let entry = await this.#queue.first();
      entry !== undefined && isStale(entry.addedAt) && !this.#closing.signal.aborted;
      entry = await this.#queue.first()
    ) {
      await this.#queue.remove(entry.id);
      dropped += 1;
    }
    this.#counts.dropped += dropped;
    const host = this.#host;
    this.#parts.log.error('Events for a webhook were given up after a day.', { host, dropped, error });
  }

  async #post(id: string, body: string): Promise<void> {
    const { url, secret, allowPrivate } = this.#settings;
    const headers = headersFor(secret, id, body);
    const { signal } = this.#closing;
    const options = { body, headers, timeoutMs: TIMEOUT_MS, allowPrivate, signal };
    const status = await this.#parts.poster.post(url, options);
    if (status < 200 || status > 299) throw new Error(`The receiver answered ${String(status)}.`);
  }

  #pause(milliseconds: number, signal = this.#closing.signal): Promise<void> {
    return delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/**
 * Posts events to a receiver, in their order and one at a time, until it answers with 2xx: at least once.
 * Waiting events lie in the state, and are sent after a restart or by another instance that shares it; one
 * instance sends at a time. Between attempts it waits from a second to five minutes; what could not be
 * delivered for a day is given up, with a line in the log.
 */
export const createWebhook = (settings: WebhookSettings, parts: WebhookParts): EventSink =>
  new Webhook(settings, parts);
