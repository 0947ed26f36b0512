import { type Calls, isRecord } from './calls.ts';

/** Event of the file browser: a click on "Undo" has changed the trash. */
export const UNDONE = 'undone.stowage';

/** Where something is, or was: the folder without slashes at its ends, and its name. */
export interface Location {
  readonly source: string;
  readonly path: string;
  readonly name: string;
}

/** Something in the trash, as `trashList` describes it. */
export interface TrashItem extends Location {
  readonly id: string;
  readonly kind: 'file' | 'folder';
  readonly bytes: number;
  /** ISO 8601. */
  readonly removedAt: string;
  /** Who removed it, as far as the connector was told. */
  readonly subject: string | undefined;
  /** It was not removed, but replaced by newer content. */
  readonly isReplaced: boolean;
}

/** Which part of the list is asked for; without a source, that of all sources. */
export interface TrashPage {
  readonly source?: string | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** The actions of the connector's trash. Each rejects with the connector's message. */
export interface Trash {
  /** The newest come first. */
  list(page: TrashPage, signal?: AbortSignal): Promise<readonly TrashItem[]>;
  /** Brings an item back to where it was; resolves to where it is now. */
  restore(item: TrashItem): Promise<Location>;
  remove(item: TrashItem): Promise<void>;
  /** Resolves to the number of items that are gone. */
  empty(source: string): Promise<number>;
}

/** A path as `TrashItem` and `Item` are compared by: without slashes at its ends. */
export const plainPath = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

export const isSameLocation = (one: Location, other: Location): boolean =>
  one.source === other.source && one.name === other.name && plainPath(one.path) === plainPath(other.path);

const textOf = (record: Readonly<Record<string, unknown>>, key: string): string => {
  const value = record[key];
  return typeof value === 'string' ? value : '';
};

const trashItem = (value: unknown): TrashItem | undefined => {
  if (!isRecord(value) || textOf(value, 'id') === '' || textOf(value, 'name') === '') return undefined;
  return {
    id: textOf(value, 'id'),
    source: textOf(value, 'source'),
    path: plainPath(textOf(value, 'path')),
    name: textOf(value, 'name'),
    kind: value['kind'] === 'folder' ? 'folder' : 'file',
    bytes: typeof value['bytes'] === 'number' ? value['bytes'] : 0,
    removedAt: textOf(value, 'removedAt'),
    subject: textOf(value, 'subject') || undefined,
    isReplaced: value['replaced'] === true,
  };
};

/** Asks for the trash. `say` is told of sources that cannot be reached and are left out of a list. */
export const createTrash = ({ ask }: Pick<Calls, 'ask'>, say: (text: string) => void): Trash => ({
  list: async ({ source, offset = 0, limit }, signal) => {
    const page = {
      offset: String(offset),
      limit: String(limit),
      ...(source === undefined ? {} : { source }),
    };
    const { items, messages } = await ask({ action: 'trashList', ...page }, signal);
    if (Array.isArray(messages)) say(messages.join(' '));
    return Array.isArray(items) ? items.flatMap((item) => trashItem(item) ?? []) : [];
  },
  restore: async ({ source, id, path, name }) => {
    const answer = await ask({ action: 'trashRestore', source, id });
    return { source, path: plainPath(textOf(answer, 'path') || path), name: textOf(answer, 'name') || name };
  },
  remove: async ({ source, id }) => {
    await ask({ action: 'trashRemove', source, id });
  },
  empty: async (source) => {
    const { removed } = await ask({ action: 'trashEmpty', source });
    return typeof removed === 'number' ? removed : 0;
  },
});
