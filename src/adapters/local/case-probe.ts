import type { Confinement, OpenFolder } from './confinement.ts';
import { TEMP_PREFIX } from './names.ts';
import { lstatOf, makeDirectory, readNames, removeEmpty } from './system.ts';

const otherCase = (name: string): string => {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
};

/** Whether the name in another letter case is something else; undefined when it cannot be determined. */
const differsByCase = async (folder: OpenFolder, name: string): Promise<boolean | undefined> => {
  const own = await lstatOf(folder.at(name)).catch(() => undefined);
  if (own === undefined || otherCase(name) === name) return undefined;
  const other = await lstatOf(folder.at(otherCase(name))).catch(() => undefined);
  return other?.ino !== own.ino || other.dev !== own.dev;
};

/** For a root that holds nothing to try it on: on a folder of the adapter's own, there for a moment. */
const tryOwnName = async (root: OpenFolder): Promise<boolean | undefined> => {
  const made = await makeDirectory(root.at(TEMP_PREFIX), 0o777).then(
    () => true,
    () => false,
  );
  const differs = await differsByCase(root, TEMP_PREFIX);
  if (made) await removeEmpty(root.at(TEMP_PREFIX)).catch(() => undefined);
  return differs;
};

/**
 * Whether names in the root differ by case, tried on what lies there. Where that cannot be determined: what is usual on the system.
 */
export const isCaseSensitive = async (confinement: Confinement): Promise<boolean> => {
  const usual = process.platform !== 'darwin' && process.platform !== 'win32';
  const root = await confinement.openRoot();
  try {
    const names = await readNames(root.self).catch(() => []);
    const telling = names.find((name) => otherCase(name) !== name);
    return (await (telling === undefined ? tryOwnName(root) : differsByCase(root, telling))) ?? usual;
  } finally {
    await root.close();
  }
};
