import {
  type Client,
  type ClientOptions,
  ConnectorError,
  createClient,
  type FilesData,
  type FilesSearchData,
  type PermissionsData,
} from '../client/index.ts';
import type { Reach } from '../transfer/request.ts';
import type { PickedFile } from './options.ts';
import { fill, type Texts } from './texts.ts';

/** A folder: its source, and its path inside without slashes at the ends; empty at the root. */
export interface Folder {
  readonly source: string;
  readonly path: string;
}

/** A file or folder of a listing. */
export interface Entry extends Omit<PickedFile, 'url' | 'isImage' | 'alt'> {
  readonly type: 'folder' | 'image' | 'file';
  /** Absent for folders, and for files that the reader may not download. */
  readonly url?: string | undefined;
  /** ISO 8601, in UTC. */
  readonly modified?: string | undefined;
}

/** A source of the connector. */
export interface SourceInfo {
  readonly name: string;
  readonly title: string;
}

/** What a person may do in a folder, and how large files may be. */
export interface Rights {
  readonly permissions: Partial<PermissionsData['permissions']>;
  readonly limits?: PermissionsData['limits'];
}

/** A source as a listing answers it. */
export type ListedSource = FilesData['sources'][number];

type ListedFile = ListedSource['files'][number];
type FoundItem = FilesSearchData['items'][number];

export const trimmed = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

export const joined = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`);

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export const isSameFolder = (one: Folder, other: Folder): boolean =>
  one.source === other.source && one.path === other.path;

/** Unique among the entries of all sources. */
export const keyOf = ({ source, path, name }: Pick<Entry, 'source' | 'path' | 'name'>): string =>
  JSON.stringify([source, path, name]);

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/** Asks the connector, and makes of its answers entries whose links can be used as they are. */
export class Service {
  readonly client: Client;
  readonly reach: Reach;
  readonly #rights = new Map<string, { readonly until: number; readonly rights: Promise<Rights> }>();

  constructor({ url, headers, credentials, fetch: own }: ClientOptions) {
    this.client = createClient({ url, headers, credentials, fetch: own });
    this.reach = {
      base: new URL(`${String(url).replace(/\/*$/u, '')}/`, document.baseURI).href,
      headers: async () => (typeof headers === 'function' ? headers() : (headers ?? {})),
      withCredentials: credentials === 'include',
    };
  }

  /** The text that a person should read of a failure. */
  messageOf(error: unknown, texts: Texts): string {
    if (!(error instanceof ConnectorError)) return texts.unreachable;
    if (error.messages.length > 0) return error.messages.join(' ');
    if (error.code === 0) return texts.unreachable;
    return error.code < 400 ? texts.noAnswer : fill(texts.answered, { code: error.code });
  }

  /** The rights in a folder, asked once a minute. Where they cannot be learnt, nothing is permitted. */
  async rightsIn({ source, path }: Folder): Promise<Rights> {
    const key = JSON.stringify([source, path]);
    const known = this.#rights.get(key);
    if (known !== undefined && known.until > Date.now()) return known.rights;
    if (this.#rights.size > 200) this.#rights.clear();
    const rights = this.client.permissions({ source, path }).catch(() => {
      this.#rights.delete(key);
      return { permissions: {} };
    });
    this.#rights.set(key, { until: Date.now() + 60_000, rights });
    return rights;
  }

  /** Uploads change how much room is left. */
  forgetRights(): void {
    this.#rights.clear();
  }

  async sources(signal: AbortSignal): Promise<readonly SourceInfo[]> {
    const { sources } = await this.client.files({ mods: { limit: 1 } }, { signal });
    return sources.map(({ name, title }) => ({ name, title: title === '' ? name : title }));
  }

  async foldersIn({ source, path }: Folder, signal: AbortSignal): Promise<readonly string[]> {
    const { sources } = await this.client.folders({ source, path, dots: false }, { signal });
    return sources[0]?.folders ?? [];
  }

  /** The entries of one source as a listing has them. */
  entriesOf(listed: ListedSource): readonly Entry[] {
    const base = `${listed.baseurl.replace(/\/*$/u, '')}/`;
    const path = trimmed(listed.path);
    const folder = path === '' ? base : `${base}${path.split('/').map(encodeURIComponent).join('/')}/`;
    return listed.files.map((item) => this.#entry(item, { source: listed.name, path }, folder));
  }

  entryFound(item: FoundItem): Entry {
    const folder = { source: item.source, path: trimmed(item.path) };
    const link = item.url === undefined ? undefined : this.#resolve(item.url);
    if (link === undefined) return { ...this.#entry(item, folder, ''), thumb: undefined, url: undefined };
    const [way = ''] = link.split('?', 1);
    return { ...this.#entry(item, folder, way.slice(0, way.lastIndexOf('/') + 1)), url: link };
  }

  #entry(item: ListedFile, { source, path }: Folder, folder: string): Entry {
    // Below the folder names are encoded, in the folder they are not.
    const link = (value: string, isAbsolute: boolean | undefined): string =>
      this.#resolve(
        isAbsolute === true ? value : `${folder}${value.includes('/') ? value : encodeURIComponent(value)}`,
      );
    const thumb = item.thumb === undefined ? undefined : link(item.thumb, item.thumbIsAbsolute);
    const { name, modified } = item;
    if (item.type === 'folder') return { source, path, name, type: 'folder', thumb, modified };
    const isAbsolute = item.fileIsAbsolute;
    return {
      ...{ source, path, name, type: item.type, thumb, modified },
      url: item.file === '' ? undefined : link(item.file, isAbsolute),
      ...{ bytes: item.bytes, mime: item.mime, width: item.width, height: item.height },
      srcset: isAbsolute === true ? undefined : srcsetOf(item, (value) => link(value, false)),
    };
  }

  /** Links of a connector of the page's own site stay without a host: documents move from site to site. */
  #resolve(link: string): string {
    const url = new URL(link, this.reach.base);
    return url.origin === location.origin ? `${url.pathname}${url.search}` : url.href;
  }
}

const srcsetOf = (
  item: Exclude<ListedFile, { readonly type: 'folder' }>,
  link: (value: string) => string,
): string | undefined => {
  const { width, height, variants, variantSizes } = item;
  if (width === undefined || height === undefined) return undefined;
  const fitting = Object.entries(variants ?? {}).flatMap(([preset, value]) => {
    const size = variantSizes?.[preset];
    // Rounding takes less than a pixel of the longer side.
    const keepsShape =
      size !== undefined && Math.abs(size.width * height - size.height * width) <= Math.max(width, height);
    return keepsShape && size.width < width
      ? [{ url: link(value).replaceAll(/[\s,]/gu, encodeURIComponent), width: size.width }]
      : [];
  });
  if (fitting.length === 0) return undefined;
  const all = [...new Map(fitting.map((one) => [one.width, one.url]))].sort(([one], [other]) => one - other);
  return all.map(([pixels, url]) => `${url} ${String(pixels)}w`).join(', ');
};
