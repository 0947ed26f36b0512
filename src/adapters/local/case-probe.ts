import type { Confinement } from './confinement.ts';
import { TEMP_PREFIX } from './names.ts';
import { lstatOf, makeDirectory, removeEmpty } from './system.ts';

/**
 * Whether names in the root differ by case, tried on the adapter's own reserved name. Where nothing can be made there: what is usual on the
 * system.
 */
export const isCaseSensitive = async (confinement: Confinement): Promise<boolean> => {
  const usual = process.platform !== 'darwin' && process.platform !== 'win32';
  const root = await confinement.openRoot();
  try {
    const made = await makeDirectory(root.at(TEMP_PREFIX), 0o777).then(
      () => true,
      () => false,
    );
    const own = await lstatOf(root.at(TEMP_PREFIX)).catch(() => undefined);
    const other = await lstatOf(root.at(TEMP_PREFIX.toUpperCase())).catch(() => undefined);
    if (made) await removeEmpty(root.at(TEMP_PREFIX)).catch(() => undefined);
    if (own === undefined) return usual;
    return other?.ino !== own.ino || other.dev !== own.dev;
  } finally {
    await root.close();
  }
};
