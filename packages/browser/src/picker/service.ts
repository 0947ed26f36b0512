import {
  type ClientOptions,
  ConnectorError,
  createClient,
  type FilesData,
  type FilesSearchData,
  type PermissionsData,
  type Client,
} from '../client/index.ts';
import { type Reach, UnreadableFile } from '../transfer/request.ts';
import { obstacleOf } from '../transfer/upload.ts';
import type { AboutChange } from './about-form.ts';
import { altOf } from './names.ts';
import { type About, fullSrcset, type PickedFile, type PickerOptions } from './options.ts';
import { patientFetch, type Slow, Stopped } from './patience.ts';
import { fill, humanSize, type Texts } from './texts.ts';

/** A folder: its source, and its path without leading and trailing slashes; empty at the root. */
export interface Folder {
  readonly source: string;
  readonly path: string;
}

/** Location of a file or folder. */
export type Place = Folder & { readonly name: string };

/** A file or folder of a listing. */
export interface Entry extends Omit<PickedFile, 'url' | 'isImage' | 'alt'> {
  readonly type: 'folder' | 'image' | 'file';
  /** Absent for folders, and for files that the user may not download. */
  readonly url?: string | undefined;
  /** ISO 8601, in UTC. */
  readonly modified?: string | undefined;
  /** Changes with the content: the link of a thumbnail stays the same. */
  readonly version?: string | undefined;
}

/** A source of the connector. */
export interface SourceInfo {
  readonly name: string;
  readonly title: string;
}

/** Permissions in a folder, and limits of uploads. */
export interface Rights {
  readonly permissions: Partial<PermissionsData['permissions']>;
  readonly limits?: PermissionsData['limits'];
  /** The reason why they could not be loaded. */
  readonly failure?: unknown;
}

export const NO_RIGHTS: Rights = { permissions: {} };

/** A source in the response of a listing. */
export type ListedSource = FilesData['sources'][number];

type ListedFile = ListedSource['files'][number];
type FoundItem = FilesSearchData['items'][number];

export const trimmed = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

export const joined = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`);

/** Encodes a path for a URL, in the spelling of the connector's own links. */
const encoded = (path: string): string => encodeURI(path).replace(/[+;?#]/gu, encodeURIComponent);

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export const isSameFolder = (one: Folder, other: Folder): boolean =>
  one.source === other.source && one.path === other.path;

/** The folders, or those of the entries, each once. */
export const uniqueFolders = (folders: readonly Folder[]): readonly Folder[] => [
  ...new Map(folders.map(({ source, path }) => [JSON.stringify([source, path]), { source, path }])).values(),
];

/** Unique among the entries of all sources. */
export const keyOf = ({ source, path, name }: Pick<Entry, 'source' | 'path' | 'name'>): string =>
  JSON.stringify([source, path, name]);

/** Whether the error means that a file or folder no longer exists. */
export const isGone = (error: unknown): boolean =>
  error instanceof ConnectorError && error.error === 'NOT_FOUND';

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

interface ServiceOptions extends ClientOptions, Pick<PickerOptions, 'language' | 'types'> {
  readonly slow?: Slow;
}

/** Sends requests to the connector, and converts responses to entries with usable links. */
export class Service {
  readonly client: Client;
  readonly reach: Reach;
  readonly #types: PickerOptions['types'];
  readonly #rights = new Map<string, { readonly until: number; readonly rights: Promise<Rights> }>();

  constructor({ url, headers: given, credentials, fetch: own, language, types, slow }: ServiceOptions) {
    const spoken = language === undefined ? {} : { 'Accept-Language': language.replaceAll('_', '-') };
    const headers = async (): Promise<Readonly<Record<string, string>>> => ({
      ...spoken,
      ...(typeof given === 'function' ? await given() : given),
    });
    const base = new URL(`${String(url).replace(/\/*$/u, '')}/`, document.baseURI).href;
    const patient = patientFetch(own ?? fetch, slow);
    this.client = createClient({ url: base, headers, credentials, fetch: patient });
    this.#types = types;
    this.reach = { base, headers, withCredentials: credentials === 'include' };
  }

  /** The message of a failure for the user. */
  messageOf(error: unknown, texts: Texts): string {
    if (error instanceof Stopped) return texts.trouble.stopped;
    if (error instanceof UnreadableFile) return texts.trouble.unreadable;
    // A response that the connector would not send.
    if (!(error instanceof ConnectorError)) return texts.trouble.noAnswer;
    if (error.messages.length > 0) return error.messages.join(' ');
    if (error.code === 0) return texts.trouble.unreachable;
    return error.reason === undefined
      ? texts.trouble.noAnswer
      : fill(texts.trouble.foreignAnswer, { reason: error.reason });
  }

  /** A readable reason why the limits of a folder, or the wish for pictures, exclude a file. */
  obstacleTo(file: File, limits: Rights['limits'], texts: Texts): string | undefined {
    // Browsers derive the type from the extension, and report none where they do not know it.
    const isUnwanted = this.#types === 'image' && !/^(?:image\/|$)/u.test(file.type);
    const obstacle = isUnwanted ? 'type' : obstacleOf(file, limits);
    if (obstacle === undefined) return undefined;
    return fill(
      { type: texts.refused.wrongType, size: texts.refused.tooLarge, room: texts.refused.noRoom }[obstacle],
      {
        name: file.name,
        limit: humanSize(texts, limits?.maxUploadFileSize ?? 0),
        left: humanSize(texts, limits?.bytesLeft ?? 0),
      },
    );
  }

  /** The rights in a folder, cached for a minute; those known before if they cannot be loaded, else none. */
  async rightsIn({ source, path }: Folder): Promise<Rights> {
    const key = JSON.stringify([source, path]);
    const known = this.#rights.get(key);
    if (known !== undefined && known.until > Date.now()) return known.rights;
    if (this.#rights.size > 200) this.#rights.clear();
    const rights = this.client.permissions({ source, path }).catch((failure: unknown) => {
      if (known === undefined) this.#rights.delete(key);
      else this.#rights.set(key, known);
      // A role that may not ask for its rights has none.
      const isDenied = failure instanceof ConnectorError && failure.code === 403;
      return known?.rights ?? (isDenied ? NO_RIGHTS : { ...NO_RIGHTS, failure });
    });
    this.#rights.set(key, { until: Date.now() + 60_000, rights });
    return rights;
  }

  /** The rights that apply in all of several folders. */
  async rightsInAll(folders: readonly Folder[]): Promise<Rights> {
    const all = await Promise.all(uniqueFolders(folders).map((folder) => this.rightsIn(folder)));
    const isEverywhere = (key: string): boolean =>
      all.every(({ permissions }) => (permissions as Readonly<Record<string, boolean>>)[key] === true);
    const keys = Object.keys(all[0]?.permissions ?? {});
    return { permissions: Object.fromEntries(keys.map((key) => [key, isEverywhere(key)])) };
  }

  /**
   * Changes the description of a file. Forms cannot contain empty lists, nor points without numbers, so these
   * are sent as empty texts.
   */
  async describe({ source, path, name }: Entry, change: AboutChange): Promise<About> {
    const sent = (value: unknown): unknown =>
      Array.isArray(value) && value.length === 0 ? [''] : (value ?? '');
    const given = Object.entries(change).map(([key, value]) => [key, sent(value)]);
    const { about } = await this.client.fileDescribe({
      source,
      path,
      name,
      ...(Object.fromEntries(given) as object),
    });
    return about ?? {};
  }

  /** Clears the cached rights: uploads change the remaining room. */
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

  /** The entries of one source in a listing. */
  entriesOf(listed: ListedSource, variants: true | readonly string[] = true): readonly Entry[] {
    const base = `${listed.baseurl.replace(/\/*$/u, '')}/`;
    const path = trimmed(listed.path);
    const folder = path === '' ? base : `${base}${encoded(path)}/`;
    return listed.files.map((item) => this.#entry(item, { source: listed.name, path }, folder, variants));
  }

  /** A file in a new listing, with a `srcset` of all variants or of the given presets. */
  async find({ source, path, name }: Place, variants?: true | readonly string[]): Promise<Entry | undefined> {
    const mods = { details: true, variants: true, filterWord: name, limit: 1000 };
    const { sources } = await this.client.files({ source, path, mods });
    const entries = sources.flatMap((listed) => this.entriesOf(listed, variants));
    return entries.find((entry) => entry.name === name);
  }

  /** Renews signed links for documents: a link from a list has already used up a part of its lifetime. */
  withNewLinks(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const renewed = async (entry: Entry): Promise<Entry> => {
      if (!/[?&]expires=/u.test(entry.url ?? '')) return entry;
      return (await this.find(entry).catch(() => undefined)) ?? entry;
    };
    return Promise.all(entries.map(renewed));
  }

  entryFound(item: FoundItem): Entry {
    const folder = { source: item.source, path: trimmed(item.path) };
    const link = item.url === undefined ? undefined : this.#resolve(item.url);
    if (link === undefined) return { ...this.#entry(item, folder, ''), thumb: undefined, url: undefined };
    const [way = ''] = link.split('?', 1);
    return { ...this.#entry(item, folder, way.slice(0, way.lastIndexOf('/') + 1)), url: link };
  }

  #entry(
    item: ListedFile,
    { source, path }: Folder,
    folder: string,
    presets?: true | readonly string[],
  ): Entry {
    // In subfolders names are encoded, in the folder itself they are not.
    const link = (value: string, isAbsolute: boolean | undefined): string =>
      this.#resolve(isAbsolute === true ? value : `${folder}${value.includes('/') ? value : encoded(value)}`);
    const thumb = item.thumb === undefined ? undefined : link(item.thumb, item.thumbIsAbsolute);
    const { name, modified } = item;
    if (item.type === 'folder') return { source, path, name, type: 'folder', thumb, modified };
    const isAbsolute = item.fileIsAbsolute;
    return {
      ...{ source, path, name, type: item.type, thumb, modified, version: item.etag ?? modified },
      url: item.file === '' ? undefined : link(item.file, isAbsolute),
      ...{ bytes: item.bytes, mime: item.mime, width: item.width, height: item.height, about: item.about },
      srcset: isAbsolute === true ? undefined : srcsetOf(item, (value) => link(value, false), presets),
    };
  }

  /** Links to the page's own origin have no host: documents may move between hosts. */
  #resolve(link: string): string {
    const url = new URL(link, this.reach.base);
    return url.origin === new URL(document.baseURI).origin ? `${url.pathname}${url.search}` : url.href;
  }
}

/** The smaller variants of a picture with its aspect ratio, in the format of `srcset`. */
const srcsetOf = (
  item: Exclude<ListedFile, { readonly type: 'folder' }>,
  link: (value: string) => string,
  wanted: true | readonly string[] = true,
): string | undefined => {
  const { width, height, variants, variantSizes } = item;
  if (width === undefined || height === undefined) return undefined;
  const fitting = Object.entries(variants ?? {}).flatMap(([preset, value]) => {
    const size = variantSizes?.[preset];
    if (size === undefined || (wanted !== true && !wanted.includes(preset))) return [];
    // Rounding changes the longer side by less than a pixel.
    const keepsShape = Math.abs(size.width * height - size.height * width) <= Math.max(width, height);
    // A blank would end a URL of a `srcset`, and a trailing comma too.
    const url = link(value).replaceAll(/[\s,]/gu, encodeURIComponent);
    return keepsShape && size.width <= width ? [[size.width, url] as const] : [];
  });
  const all = [...new Map(fitting)].sort(([one], [other]) => one - other);
  if ((all[0]?.[0] ?? width) >= width) return undefined;
  return all.map(([pixels, url]) => `${url} ${String(pixels)}w`).join(', ');
};

/** The entry in the form for documents. */
export const pickedOf = ({ type, url = '', modified: _, version: __, ...entry }: Entry): PickedFile => ({
  ...{ ...entry, url, isImage: type === 'image', alt: altOf(entry) },
  srcset: fullSrcset({ ...entry, url }),
});
