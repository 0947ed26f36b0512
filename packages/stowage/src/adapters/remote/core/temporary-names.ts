import { randomUUID } from 'node:crypto';

const TEMP = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Such names are neither listed nor reached. */
export const isTempName = (name: string): boolean => TEMP.test(name);

/**
 * A name for content that is not whole yet: `.<random>.tmp`, a UUID of version 7, which begins with the time.
 */
export const newTempName = (): string => {
  const time = Date.now().toString(16).padStart(12, '0');
  return `.${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}.tmp`;
};

/** A temporary name for something that must not be lost: it is never taken for a leftover. */
export const newAsideName = (): string => `.${randomUUID()}.tmp`;

/**
 * Whether something temporary is a day old, so that it cannot be in use any more. Of content and copies
 * the name says when they began: servers may give a copy the time of its original. Reservations are folders
 * that were just made, so their time counts, by the server's clock.
 */
export const isStale = (
  name: string,
  modifiedAt: number | undefined,
  serverTime: number | undefined,
): boolean => {
  const uuid = name.slice(1, -4).replaceAll('-', '');
  if (uuid[12] === '7')
    return (
      Math.min(Date.now(), serverTime ?? Number.POSITIVE_INFINITY) - parseInt(uuid.slice(0, 12), 16) > DAY_MS
    );
  if (uuid[12] !== '8' || modifiedAt === undefined || serverTime === undefined) return false;
  return serverTime - modifiedAt > DAY_MS;
};
