import { ConnectorError } from '../client/index.ts';
import { type Folder, joined, parentOf } from './service.ts';

/** A file to store, with its destination folder. */
export interface Wanted extends Folder {
  readonly file: File;
  /** Name of the file in the folder whose content is replaced. */
  readonly replaces?: string | undefined;
}

/**
 * Creates the folders of the files by `make`, which returns the name that a folder has at the connector.
 * Returns the files with these names, without those whose folder is rejected.
 */
export const withFolders = async (
  wanted: readonly Wanted[],
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
    if (path !== undefined) placed.push({ ...one, path });
  }
  return placed;
};
