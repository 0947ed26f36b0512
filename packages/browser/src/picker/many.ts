import { ConnectorError } from '../client/index.ts';
import { Stopped } from './patience.ts';
import type { Entry, Folder } from './service.ts';

/** Maximum number of items per request. */
const TOGETHER = 100;

/** The result of an operation on several items. */
export interface Outcome {
  readonly done: readonly Entry[];
  /** Successful items, with their new names. */
  readonly named: readonly Entry[];
  readonly total: number;
  /** The first reason of a failure. */
  readonly reason: string | undefined;
}

/** @throws ConnectorError with the reason if one of the items failed */
export const requireAll = ({ reason }: Outcome): void => {
  if (reason !== undefined) throw new ConnectorError(409, [reason]);
};

interface Results {
  readonly results?:
    | readonly {
        readonly name: string;
        readonly success: boolean;
        readonly newname?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** Sends a request for several files, or several folders, of one folder. */
export type AskForMany = (isFolder: boolean, from: Folder, names: readonly string[]) => Promise<Results>;

export const folderOf = ({ source, path }: Folder): Folder => ({ source, path });

/**
 * Sends one request for the files and one for the folders of each folder; the connector returns a result for
 * each item.
 */
export const doToMany = async (
  entries: readonly Entry[],
  ask: AskForMany,
  messageOf: (error: unknown) => string,
): Promise<Outcome> => {
  const groups = Map.groupBy(entries, ({ source, path, type }) =>
    JSON.stringify([source, path, type === 'folder']),
  );
  const parts = [...groups.values()].flatMap((group) =>
    group.flatMap((_, index) => (index % TOGETHER === 0 ? [group.slice(index, index + TOGETHER)] : [])),
  );
  const done: Entry[] = [];
  const named: Entry[] = [];
  let reason: string | undefined;
  const about = ({ name }: Entry, message: string): string =>
    entries.length === 1 ? message : `\u2068${name}\u2069: ${message}`;
  for (const part of parts) {
    const [first] = part;
    if (first === undefined) continue;
    try {
      const names = part.map(({ name }) => name);
      const { results } = await ask(first.type === 'folder', folderOf(first), names);
      part.forEach((entry, index) => {
        const result = results?.[index];
        if (result === undefined || result.success) {
          done.push(entry);
          named.push({ ...entry, name: result?.newname ?? entry.name });
        } else if (result.message !== undefined) reason ??= about(entry, result.message);
      });
    } catch (error) {
      reason ??= part.length === 1 ? about(first, messageOf(error)) : messageOf(error);
      // The user has cancelled: the remaining requests are skipped.
      if (error instanceof Stopped) break;
    }
  }
  return { done, named, total: entries.length, reason };
};
