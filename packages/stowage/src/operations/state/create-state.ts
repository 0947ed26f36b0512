import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { ifCode } from '../../basics/files/system-errors.ts';
import { createFileQueue } from './file-queue.ts';
import type { RecordChange, State } from './state.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { createRedisConnection, type RedisConnection, type RedisSettings } from './redis-connection.ts';
import { createRedisState } from './redis-state.ts';

const MOST_RECORDS = 10_000;

/** State of this process: records in memory (least recently used evicted), durable queues in a directory. */
export const createEmbeddedState = (directory: string): State => {
  const records = new LRUCache<string, { readonly record: unknown }>({
    // Limited by size: a limit by number would allocate lists of that length at the start.
    maxSize: MOST_RECORDS,
    sizeCalculation: () => 1,
  });
  const queues = join(directory, 'webhooks');
  const opened = new Set<string>();
  return {
    records: {
      change: <Value, Result>(key: string, change: RecordChange<Value, Result>) =>
        new Promise<Result>((resolve) => {
          const [record, result] = change(records.get(key)?.record as Value | undefined, Date.now());
          if (record === undefined) records.delete(key);
          else records.set(key, { record });
          resolve(result);
        }),
    },
    queue: (name, most) => {
      opened.add(name);
      return createFileQueue(join(queues, name), most);
    },
    forgotten: async () => {
      if (directory === '') return 0;
      const paths = (await readdir(queues, { recursive: true }).catch(ifCode('ENOENT'))) ?? [];
      return paths.filter((path) => path.endsWith('.json') && !opened.has(dirname(path))).length;
    },
    close: () => Promise.resolve(),
  };
};

/** Creates the configured state. Opens nothing yet; closing the state closes the connection. */
export const createState = (
  {
    redis: settings,
    stateDirectory = '',
  }: { readonly redis?: RedisSettings | undefined; readonly stateDirectory?: string | undefined },
  log: Logger,
): { readonly state: State; readonly redis: RedisConnection | undefined } => {
  if (settings === undefined) return { state: createEmbeddedState(stateDirectory), redis: undefined };
  const redis = createRedisConnection(settings, log);
  return { state: createRedisState(redis, log), redis };
};
