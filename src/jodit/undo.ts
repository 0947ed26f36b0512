import { type Connection, headersOf, urlOf } from './connection.ts';
import type { FileBrowser, HeadersOption } from './editor.ts';
import type { Notices } from './notices.ts';
import { counted, type Texts } from './texts/texts.ts';

/** Milliseconds that a removal can be taken back with one click. */
const STAYS = 10_000;

/** More than a person removes in one go, with room for what others remove meanwhile. */
const LOOKED_THROUGH = 200;

/** Something that was removed: where it was. */
export interface Removed {
  readonly source: string;
  readonly path: string;
  readonly name: string;
}

interface TrashItem extends Removed {
  readonly id: string;
}

/** Says what was removed, and offers to take it back where the source has a trash. */
export type ReportRemoval = (removed: readonly Removed[]) => Promise<void>;

const without = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

const isSame = (one: Removed, other: Removed): boolean =>
  one.source === other.source && one.name === other.name && without(one.path) === without(other.path);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Asks the connector for what Jodit has no request for. @throws Error with the connector's message */
const createCaller = (connection: Connection, language: string) => {
  const headers: HeadersOption = headersOf(connection, language);
  return async (fields: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    const answer = await fetch(urlOf(connection), {
      method: 'POST',
      body,
      headers: typeof headers === 'function' ? await headers() : headers,
      credentials: connection.credentials ?? 'same-origin',
    });
    const envelope: unknown = await answer.json();
    const data = isRecord(envelope) && isRecord(envelope['data']) ? envelope['data'] : {};
    if (isRecord(envelope) && envelope['success'] === true) return data;
    throw new Error(Array.isArray(data['messages']) ? data['messages'].join(' ') : String(answer.status));
  };
};

const isTrashItem = (value: unknown): value is TrashItem =>
  isRecord(value) && ['id', 'source', 'path', 'name'].every((key) => typeof value[key] === 'string');

/**
 * Reports removals with the offer to take them back for ten seconds. A connector without a trash, or a person
 * who may not use it, gets the report alone.
 */
export const reportRemovals = (
  browser: FileBrowser,
  connection: Connection,
  {
    notices,
    texts,
    language,
  }: { readonly notices: Notices; readonly texts: Texts; readonly language: string },
): ReportRemoval => {
  const { dataProvider } = browser;
  const call = createCaller(connection, language);
  const permissions = dataProvider.permissions;
  let allowed: Readonly<Record<string, boolean>> = {};
  dataProvider.permissions = async (path, source) => {
    const answer = await permissions(path, source);
    allowed = answer ?? {};
    return answer;
  };

  const inTrash = async (removed: readonly Removed[]): Promise<readonly TrashItem[]> => {
    if (allowed['allowTrashList'] !== true || allowed['allowTrashRestore'] !== true) return [];
    const lists = [...new Set(removed.map(({ source }) => source))].map(async (source) => {
      const { items } = await call({ action: 'trashList', source, limit: String(LOOKED_THROUGH) });
      return Array.isArray(items) ? items.filter(isTrashItem) : [];
    });
    // The newest come first: those that were just removed.
    const newest = (await Promise.all(lists)).flat();
    return removed.flatMap((one) => newest.find((item) => isSame(item, one)) ?? []);
  };
  const restore = async (items: readonly TrashItem[]): Promise<void> => {
    let count = 0;
    for (const { source, id } of items) {
      try {
        await call({ action: 'trashRestore', source, id });
        count += 1;
      } catch (error) {
        browser.status(error);
      }
    }
    if (count > 0)
      notices.show(counted(texts, texts.restored, count, { name: items[0]?.name ?? '' }), 'success');
    browser.e.fire('update.filebrowser');
  };

  return async (removed) => {
    if (removed.length === 0) return;
    const text = counted(texts, texts.filesDeleted, removed.length, { name: removed[0]?.name ?? '' });
    // Where the trash cannot be asked, the files are gone all the same.
    const items = await inTrash(removed).catch(() => []);
    const undo = { label: texts.undo, run: () => void restore(items) };
    notices.show(text, 'success', { milliseconds: STAYS, action: items.length > 0 ? undo : undefined });
  };
};
