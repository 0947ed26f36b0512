import { createHash, randomUUID } from 'node:crypto';

const TEMP = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;

/** A name for content that is not whole yet: `.<random>.tmp`. */
export const newTempName = (): string => `.${randomUUID()}.tmp`;

/**
 * The temporary name that stands for the right to create `name`, the same in every process. Names that differ only in case share one, because a
 * server may hold them for the same.
 */
export const reservationName = (name: string): string => {
  const digest = createHash('sha256').update(name.normalize('NFC').toLowerCase()).digest('hex');
  const parts = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(12, 16), digest.slice(16, 20)];
  return `.${[...parts, digest.slice(20, 32)].join('-')}.tmp`;
};

/** Such names are neither listed nor reached. */
export const isTempName = (name: string): boolean => TEMP.test(name);
