import { ConnectorError } from '../client/index.ts';
import { type Folder, joined, parentOf } from './service.ts';
import { counted, fill, type Texts } from './texts.ts';

/** A file to store, with its destination folder. */
export interface Wanted extends Folder {
  readonly file: File;
  /** Name of the file in the folder whose content is replaced. */
  readonly replaces?: string | undefined;
}

/** A dropped file, or without one an empty folder. */
export type Dropped = Wanted | (Folder & { readonly file?: undefined });

/** A stored file, as in the response, or a created folder. */
export interface Stored extends Folder {
  readonly name: string;
  readonly isFolder?: true;
}

/** The message about stored files, or without any about the first created folder. */
export const summaryOf = (stored: readonly Stored[], texts: Texts): string => {
  const files = stored.filter(({ isFolder }) => !isFolder);
  const [{ name } = { name: '' }] = [...files, ...stored];
  return files.length === 0
    ? fill(texts.done.created, { name })
    : counted(texts, texts.uploaded, files.length, { name });
};

/**
 * Creates the empty folders and those of the files by `make`, which returns the name that a folder has at the
 * connector. Returns the files with these names, without those whose folder is rejected.
 */
export const withFolders = async (
  wanted: readonly Dropped[],
  { source, path: base }: Folder,
  make: (above: Folder, name: string) => Promise<string>,
  rejected: (name: string, error: unknown) => void,
): Promise<readonly Wanted[]> => {
  const made = new Map<string, string | undefined>([[base, base]]);
  const makeAt = async (path: string): Promise<string | undefined> => {
    const above = await folderAt(parentOf(path));
    if (above === undefined) return undefined;
    const name = path.slice(path.lastIndexOf('/') + 1);
    try {
      return joined(above, await make({ source, path: above }, name));
    } catch (error) {
      // Without a response of the connector, the others would fail too.
      if (!(error instanceof ConnectorError && error.error !== undefined)) throw error;
      rejected(name, error);
      return undefined;
    }
  };
  const folderAt = async (path: string): Promise<string | undefined> => {
    if (!made.has(path)) made.set(path, await makeAt(path));
    return made.get(path);
  };
  const placed: Wanted[] = [];
  for (const one of wanted) {
    const path = await folderAt(one.path);
    if (path !== undefined && one.file !== undefined) placed.push({ ...one, path });
  }
  return placed;
};
