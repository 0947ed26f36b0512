import { randomUUID } from 'node:crypto';

const TEMP = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/u;

/** A name for content that is not whole yet: `.<random>.tmp`. */
export const newTempName = (): string => `.${randomUUID()}.tmp`;

/** Such names are neither listed nor reached. */
export const isTempName = (name: string): boolean => TEMP.test(name);
