import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { LRUCache } from 'lru-cache';
import type { Load } from '../actions/action.ts';
import { Once } from '../basics/concurrency/abort.ts';
import type { Settings } from '../config/settings.ts';
import { RateLimitedError } from '../errors/errors.ts';
import { importOptional } from '../errors/optional-package.ts';
import type { RedisConnection } from '../operations/state/redis-connection.ts';

type Limits = NonNullable<Settings['rateLimits']>;

/** Maximum number of clients that are counted at a time; the least recently seen one is dropped first. */
const MOST_CLIENTS = 100_000;

const isRefusal = (thrown: unknown): thrown is RateLimiterRes =>
  typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown;

const createCounters = async (limits: Limits, shared: RedisConnection | undefined) => {
  const { RateLimiterMemory, RateLimiterRedis } = await importOptional(
    'The setting rateLimits',
    'rate-limiter-flexible',
    () => import('rate-limiter-flexible'),
  );
  const redis = await shared?.get();
  const clients = new LRUCache<string, () => unknown>({
    max: MOST_CLIENTS,
    dispose: (forget) => void forget(),
  });
  /** RateLimiterMemory itself has no bound. */
  class BoundedMemory extends RateLimiterMemory {
    override consume(key: string | number, points?: number): Promise<RateLimiterRes> {
      const name = `${this.keyPrefix}:${String(key)}`;
      if (clients.get(name) === undefined) clients.set(name, () => super.delete(key));
      return super.consume(key, points);
    }
  }
  const counters = new Map<Load, RateLimiterAbstract>();
  for (const [load, limit] of Object.entries(limits) as [Load, Limits[Load]][]) {
    if (limit === undefined) continue;
    const options = {
      keyPrefix: `${shared?.prefix ?? ''}:rate:${load}`,
      points: limit.requests,
      duration: limit.seconds,
    };
    const own = new BoundedMemory(options);
    // While Redis is unreachable, each instance counts by itself: no request waits for it.
    counters.set(
      load,
      redis === undefined
        ? own
        : new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: own }),
    );
  }
  return counters;
};

/**
 * Rate limits by the setting `rateLimits`: with Redis, all instances share the counters. The packages are
 * loaded, and Redis is connected, at the first request.
 */
export const createRateLimits = (limits: Limits, redis: RedisConnection | undefined) => {
  const counters = new Once<ReadonlyMap<Load, RateLimiterAbstract>>();
  return {
    /**
     * Counts an expensive request of the client.
     * @param client the name from `ClientNames`
     * @throws RateLimitedError with `Retry-After` when the limit is exceeded
     */
    count: async (load: Load, client: string): Promise<void> => {
      if (limits[load] === undefined) return;
      try {
        await (await counters.get(() => createCounters(limits, redis))).get(load)?.consume(client);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const seconds = String(Math.max(1, Math.ceil(error.msBeforeNext / 1000)));
        throw new RateLimitedError({ headers: { 'Retry-After': seconds } });
      }
    },
  };
};

export type RateLimits = ReturnType<typeof createRateLimits>;
