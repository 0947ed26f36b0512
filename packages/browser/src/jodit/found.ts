import { type Calls, isRecord } from './calls.ts';
import type { Item } from './editor.ts';
import type { Sources } from './sources.ts';
import { type Location, plainPath } from './trash.ts';

/** Items of one request. */
const LIMIT = 60;

/** Files below which a search goes on by itself: an answer may be short and not the last. */
const ENOUGH = 20;

/** Requests after which a search that finds little waits for the person. */
const MOST_REQUESTS = 10;

/** What is searched for, and where: in all sources, or in a folder of one and all below it. */
export interface Query {
  readonly words: string;
  readonly within: { readonly source?: string; readonly path: string } | undefined;
  readonly onlyImages: boolean;
  readonly withDetails: boolean;
}

/** A part of what was found. */
export interface Findings {
  readonly files: readonly Item[];
  readonly folders: readonly Location[];
  /** Where the search goes on; undefined at its end. */
  readonly cursor: string | undefined;
  /** About sources that cannot be reached. */
  readonly messages: readonly string[];
}

type Answered = Readonly<Record<string, unknown>>;

const textOf = (item: Answered, key: string): string | undefined => {
  const value = item[key];
  return typeof value === 'string' ? value : undefined;
};
const numberOf = (item: Answered, key: string): number | undefined => {
  const value = item[key];
  return typeof value === 'number' ? value : undefined;
};

/** A sheet with the extension of a file, where the connector draws nothing for a search. */
const sheet = (name: string): string => {
  const extension = (/\.([a-z0-9]{1,5})$/iu.exec(name)?.[1] ?? '').toUpperCase();
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96">' +
    '<path d="M24 8h34l16 16v64H24z" fill="#eef3f2" stroke="#7d918f" stroke-width="2"/>' +
    '<path d="M58 8v16h16" fill="none" stroke="#7d918f" stroke-width="2"/>' +
    '<text x="49" y="62" font-family="sans-serif" font-size="15" font-weight="700" text-anchor="middle" ' +
    `fill="#16302f">${extension}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
};

const pictureOf = (item: Answered, url: string, name: string, time: string): string => {
  const thumb = textOf(item, 'thumb');
  if (thumb === undefined) return item['isImage'] === true ? url : sheet(name);
  if (item['thumbIsAbsolute'] === true) return thumb;
  const folder = url.replace(/[^/]*(?:\?.*)?$/u, '');
  return `${folder}${thumb}?_tmst=${encodeURIComponent(time)}`;
};

/** A found file as Jodit knows those of a listing. Its key is another, because its tile shows more. */
const fileItem = (item: Answered, { source, path, name }: Location, sources: Sources): Item => {
  const url = textOf(item, 'url') ?? textOf(item, 'file') ?? name;
  const time = textOf(item, 'changed') ?? '';
  const picture = pictureOf(item, url, name, time);
  const [size, modified] = [textOf(item, 'size'), textOf(item, 'modified')];
  const [width, height] = [numberOf(item, 'width'), numberOf(item, 'height')];
  return {
    source: { name: source, title: sources.titleOf(source), baseurl: '', path: path || '/' },
    sourceName: source,
    path: path === '' ? '/' : `${path}/`,
    fileURL: url,
    imageURL: picture,
    time,
    uniqueHashKey: ['found', source, path, name, time, picture].join(' '),
    file: name,
    name,
    changed: time,
    isImage: item['isImage'] === true,
    where: sources.folderText(source, path),
    ...(size === undefined ? {} : { size }),
    ...(modified === undefined ? {} : { modified }),
    ...(width === undefined || height === undefined ? {} : { width, height }),
  };
};

const ask = async (
  calls: Calls,
  { words, within, onlyImages, withDetails }: Query,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Answered> =>
  calls.ask(
    {
      action: 'filesSearch',
      query: words,
      limit: String(LIMIT),
      ...within,
      ...(onlyImages ? { type: 'image' } : {}),
      ...(withDetails ? { 'mods[details]': 'true' } : {}),
      ...(cursor === undefined ? {} : { cursor }),
    },
    signal,
  );

/** One request of a search. */
const findFiles = async (
  { calls, sources }: { readonly calls: Calls; readonly sources: Sources },
  query: Query,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Findings> => {
  const data = await ask(calls, query, cursor, signal);
  const files: Item[] = [];
  const folders: Location[] = [];
  for (const item of Array.isArray(data['items']) ? data['items'] : []) {
    if (!isRecord(item)) continue;
    const [name, source] = [textOf(item, 'name') ?? '', textOf(item, 'source') ?? ''];
    const location = { source, path: plainPath(textOf(item, 'path') ?? ''), name };
    if (item['type'] === 'folder') folders.push(location);
    else files.push(fileItem(item, location, sources));
  }
  const { messages } = data;
  return {
    files,
    folders,
    cursor: textOf(data, 'cursor'),
    messages: Array.isArray(messages) ? messages.map(String) : [],
  };
};

export const noFindings = (cursor?: string): Findings => ({ files: [], folders: [], cursor, messages: [] });

/** Two parts of what was found; the search goes on where the other one ends. */
export const joinedFindings = (one: Findings, other: Findings): Findings => ({
  files: [...one.files, ...other.files],
  folders: [...one.folders, ...other.folders],
  cursor: other.cursor,
  messages: [...new Set([...one.messages, ...other.messages])],
});

/**
 * Searches, from the beginning or a cursor on, until there is something to see.
 * @throws Error with the connector's message; the reason of the signal
 */
export const findEnough = async (
  surroundings: { readonly calls: Calls; readonly sources: Sources },
  query: Query,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Findings> => {
  let found = noFindings(cursor);
  for (let request = 0; request < MOST_REQUESTS && found.files.length < ENOUGH; request += 1) {
    found = joinedFindings(found, await findFiles(surroundings, query, found.cursor, signal));
    if (found.cursor === undefined) break;
  }
  return found;
};
