import type { Confinement, OpenFolder } from './confinement.ts';
import { TEMP_PREFIX } from './names.ts';
import { lstatOf, makeDirectory, openDirectory, removeEmpty } from './system.ts';

const MOST_NAMES = 64;

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

/** A name of the root that looks different in another letter case, among the first ones. */
const findTelling = async (root: OpenFolder): Promise<string | undefined> => {
  const directory = await openDirectory(root.self, { encoding: 'utf8', bufferSize: MOST_NAMES });
  try {
    for (let read = 0; read < MOST_NAMES; read += 1) {
      const name = (await directory.read())?.name;
      if (name === undefined || otherCase(name) !== name) return name;
    }
    return undefined;
  } finally {
    await directory.close();
  }
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
    const telling = await findTelling(root).catch(() => undefined);
    return (await (telling === undefined ? tryOwnName(root) : differsByCase(root, telling))) ?? usual;
  } finally {
    await root.close();
  }
};
