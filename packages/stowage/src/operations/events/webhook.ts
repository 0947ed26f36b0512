import { createHash, createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Records, State } from '../state/state.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { postRemote } from '../../basics/network/remote.ts';
import type { DurableQueue, QueueEntry } from '../state/file-queue.ts';
import type { EventSink, ServiceEvent, WebhookFigures } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';

interface Holding {
  readonly by: string;
  readonly until: number;
}

/** Creates the lease of this name: at most one instance holds it, and it expires unless renewed. */
const createLease = (records: Records, key: string) => {
  const owner = randomUUID();
  let isHeld = false;
  return {
    /** Acquires or renews the lease for this time. Returns false when another instance holds it. */
    claim: async (milliseconds: number): Promise<boolean> => {
      isHeld = await records.change<Holding, boolean>(key, (holding, now) => {
        if (holding !== undefined && holding.by !== owner && holding.until > now) return [holding, false];
        return [{ by: owner, until: now + milliseconds }, true];
      });
      return isHeld;
    },
    /** Releases the lease; has no effect when another instance holds it. */
    release: async (): Promise<void> => {
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
/** Time for which one instance sends exclusively; longer than an attempt. Then another may continue. */
const LEASE_MS = 20_000;
/** Interval of checks for events that other instances left. */
const CHECK_MS = 2000;
/** Maximum size of the events in one delivery, except for a single longer one. */
const MOST_BYTES = 1024 * 1024;
/** Older events are dropped, so that an unreachable receiver does not keep them forever. */
const MAX_AGE_MS = 24 * 60 * 60_000;
const STALE_AT_ONCE = 100;
/** Nothing is dropped this soon after the start: the receiver may start later, when both were off a day. */
const GRACE_MS = 10 * 60_000;
const PAYLOAD_TOO_LARGE = 413;

const isStale = (addedAt: number): boolean => Date.now() - addedAt > MAX_AGE_MS;

export type WebhookSettings = Settings['webhooks'][number];

interface WebhookParts {
  readonly state: State;
  readonly log: Logger;
  /** Number of earlier webhooks with the same URL. */
  readonly number: number;
}

const headersFor = (secrets: readonly string[], id: string, body: string) => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  // With the time, so that an old delivery cannot be replayed.
  const signed = `${timestamp}.${body}`;
  const signatures = secrets.map(
    (secret) => `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`,
  );
  return {
    'content-type': 'application/json',
    'x-stowage-delivery': id,
    'x-stowage-timestamp': timestamp,
    'x-stowage-signature': signatures.join(', '),
  };
};

/**
 * Posts events to a receiver in order, one or a batch at a time, until it responds with 2xx: at least once.
 * Waiting events are kept in the state, and sent after a restart or by another instance that shares it; one
 * instance sends at a time. Pauses between attempts grow from a second to five minutes; events that could not
 * be delivered for a day are dropped and logged. Until then all later events wait.
 */
export class Webhook implements EventSink {
  readonly #settings: WebhookSettings;
  readonly #parts: WebhookParts;
  readonly #host: string;
  readonly #queue: DurableQueue;
  readonly #lease: ReturnType<typeof createLease>;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #waking = new AbortController();
  readonly #counts = { delivered: 0, failed: 0, dropped: 0 };
  readonly #startedAt = performance.now();
  #failures = 0;
  /** Events were dropped since the last successful delivery. */
  #hasDropped = false;
  /** Events that fit into one delivery, as the receiver has shown by 413. */
  #fitting = Infinity;
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
        const entries = await this.#next();
        this.#isBroken = false;
        if (entries.length > 0) {
          await this.#deliver(entries);
          continue;
        }
        await this.#lease.release();
        await this.#pause(CHECK_MS, this.#waking.signal);
      } catch (error) {
        if (!this.#isBroken)
          log.error('The queue of a webhook cannot be used; it is tried again.', { host, error });
        this.#isBroken = true;
        await this.#pause(CHECK_MS);
      }
    }
    await this.#lease.release().catch(() => undefined);
  }

  /** The entries that this instance is to send now. */
  async #next(): Promise<readonly QueueEntry[]> {
    const { events = 1, seconds = 0 } = this.#settings.batch ?? {};
    const most = Math.min(events, this.#fitting);
    const [first] = await this.#queue.oldest(1);
    if (first === undefined) return [];
    const wait = first.addedAt + seconds * 1000 - Date.now();
    if (wait > 0) await this.#pause(Math.min(wait, seconds * 1000));
    if (this.#closing.signal.aborted || !(await this.#lease.claim(LEASE_MS))) return [];
    // The previous holder of the lease may have sent the first entry.
    const entries = await this.#queue.oldest(most);
    let bytes = 0;
    const end = entries.findIndex(
      ({ value }, index) => (bytes += Buffer.byteLength(JSON.stringify(value))) > MOST_BYTES && index > 0,
    );
    return end === -1 ? entries : entries.slice(0, end);
  }

  async #deliver(entries: readonly QueueEntry[]): Promise<void> {
    const [{ id, value, addedAt } = { id: '', value: undefined, addedAt: 0 }] = entries;
    const { log } = this.#parts;
    const host = this.#host;
    try {
      // With more events, the next attempt counts as another delivery.
      if (this.#settings.batch === undefined) await this.#post(id, JSON.stringify(value));
      else {
        const body = JSON.stringify({ events: entries.map((entry) => entry.value) });
        await this.#post(`${id}-${String(entries.length)}`, body, entries.length);
      }
      this.#failures = 0;
      this.#hasDropped = false;
      this.#counts.delivered += 1;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failures += 1;
      this.#counts.failed += 1;
      if (this.#failures === 1)
        log.warn('A webhook cannot be delivered; it is tried again.', { host, delivery: id, error });
      if (isStale(addedAt) && performance.now() - this.#startedAt > GRACE_MS)
        return this.#giveUpStale(entries, error);
      const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
      // Another instance would start with a wait of a second.
      await this.#lease.claim(wait + LEASE_MS);
      await this.#pause(wait);
      return;
    }
    await this.#queue.remove(entries);
  }

  /**
   * Drops the expired of these entries; the next are sent immediately, because the receiver may reject only
   * the dropped ones. If they fail too, drops all expired ones: newer ones would be rejected while the queue
   * is full.
   */
  async #giveUpStale(sent: readonly QueueEntry[], error: unknown): Promise<void> {
    let dropped = 0;
    let oldest = sent;
    do {
      // A shared queue removes only its first entries: expired ones behind a younger one stay.
      const end = oldest.findIndex(({ addedAt }) => !isStale(addedAt));
      const stale = end === -1 ? oldest : oldest.slice(0, end);
      if (stale.length === 0) break;
      await this.#queue.remove(stale);
      dropped += stale.length;
      oldest = await this.#queue.oldest(STALE_AT_ONCE);
    } while (this.#hasDropped && !this.#closing.signal.aborted);
    this.#hasDropped = true;
    this.#counts.dropped += dropped;
    const host = this.#host;
    this.#parts.log.error('Events for a webhook were given up after a day.', { host, dropped, error });
  }

  async #post(id: string, body: string, events = 1): Promise<void> {
    const { url, secret, allowPrivate } = this.#settings;
    const headers = headersFor(secret, id, body);
    const { signal } = this.#closing;
    const options = { body, headers, timeoutMs: TIMEOUT_MS, allowPrivate, signal };
    const status = await postRemote(url, options);
    // Frameworks limit bodies, Express to 100 KB: the same delivery would fail for a day.
    if (status === PAYLOAD_TOO_LARGE) this.#fitting = Math.max(1, Math.floor(events / 2));
    if (status < 200 || status > 299) throw new Error(`The receiver responded with ${String(status)}.`);
  }

  #pause(milliseconds: number, signal = this.#closing.signal): Promise<void> {
    return delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
