import { createHash } from 'node:crypto';
import type { Leftover } from '../core/leftovers.ts';
import { isSuccess } from './propfind.ts';
import type { Outcome, Resources } from './resources.ts';

/**
 * The temporary name of the folder that reserves `name`, the same in every process: a UUID of version 8.
 * Names that differ only in case share one, because a server may hold them for the same.
 */
export const reservationName = (name: string): string => {
  const digest = createHash('sha256').update(name.normalize('NFC').toLowerCase()).digest('hex');
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, digest.slice(16, 20)];
  return `.${[...parts, digest.slice(20, 32)].join('-')}.tmp`;
};

/** Nextcloud keeps what is deleted in a trash bin otherwise. */
const NO_TRASH = { 'x-nc-skip-trashbin': 'true' };

/** Removes something temporary; whether it is gone. */
export const removeTemporary = async (resources: Resources, { path, kind }: Leftover): Promise<boolean> => {
  const outcome = async (): Promise<Outcome> => ((await resources.exists(path, {})) ? 'untouched' : 'done');
  const status = await resources.act('DELETE', path, kind, { headers: NO_TRASH, outcome });
  return isSuccess(status) || status === 404 || status === 410;
};
