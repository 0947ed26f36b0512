import type { Logger } from '../../basics/log/logger.ts';
import { createEmbeddedState } from './embedded-state.ts';
import { createRedisConnection, type RedisConnection, type RedisSettings } from './redis-connection.ts';
import { createRedisState } from './redis-state.ts';
import type { State } from './state.ts';

/**
 * Where the settings want what instances share. Nothing is opened yet; closing the state closes the
 * connection.
 */
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
