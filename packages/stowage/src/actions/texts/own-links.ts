import { InvalidParametersError, NotFoundError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Item } from '../../view/folder-view.ts';
import { encodedPath, type Links } from '../../view/links.ts';
import { presentOf } from '../../view/moved.ts';
import type { SourceView } from '../../view/source-view.ts';
import type { SourceViews } from '../../view/source-views.ts';
import {
  entryShownAt,
  filesOfPublicUrl,
  NO_HOST,
  type PublicFile,
  type ShownEntry,
} from '../public-files.ts';
import { drawnPath } from '../serving/serve-file.ts';

/** Maximum number of different own links in a text. */
const MOST_LINKS = 20_000;

/** A link in a text to a file of a source, or to its thumbnail or variant. */
export interface OwnLink extends PublicFile {
  readonly url: string;
  readonly view: SourceView;
  /** The file, or the original of a thumbnail or variant; `preset` is set for a variant. */
  readonly entry: SourcePath;
  readonly preset: string | undefined;
  readonly kind: 'file' | 'thumbnail' | 'variant';
  /** In `signed` sources: undefined without a signature, or with one that was never valid. */
  readonly signature: 'valid' | 'expired' | undefined;
}

export interface Target {
  readonly item: Item;
  /** The file has another name than the link. */
  readonly isMoved: boolean;
}

const kindOf = (shown: ShownEntry | undefined): OwnLink['kind'] =>
  shown === undefined ? 'file' : shown.preset === undefined ? 'thumbnail' : 'variant';

/** Splits a link into address, query (without `?`) and hash. */
export const partsOf = (
  url: string,
): { readonly address: string; readonly query: string; readonly hash: string } => {
  const [, address = '', query = '', hash = ''] = /^([^?#]*)(?:\?([^#]*))?(.*)$/su.exec(url) ?? [];
  return { address, query, hash };
};

/** The links of one text to the sources of a connector. Each is looked up once. */
export class OwnLinks {
  readonly #views: SourceViews;
  readonly #sources: readonly Source[];
  readonly #links: Links;
  readonly #known = new Map<string, Promise<OwnLink | undefined>>();
  readonly #targets = new Map<OwnLink, Promise<Target | undefined>>();
  readonly #onFailure: ((error: unknown) => void) | undefined;
  #count = 0;

  /** With `onFailure`, a failing store is reported there and treated as empty. */
  constructor(views: SourceViews, links: Links, onFailure?: (error: unknown) => void) {
    this.#views = views;
    this.#onFailure = onFailure;
    this.#sources = views.named(undefined);
    this.#links = links;
  }

  /** Undefined for a foreign link. @throws InvalidParametersError for too many; errors of the stores */
  find(url: string): Promise<OwnLink | undefined> {
    const known = this.#known.get(url);
    if (known !== undefined) return known;
    const found = this.#find(url);
    if (found === undefined) return Promise.resolve(undefined);
    this.#count += 1;
    if (this.#count > MOST_LINKS) {
      // The lookup has already started, and may fail.
      found.catch(() => undefined);
      throw new InvalidParametersError(`html: must have at most ${String(MOST_LINKS)} links of files`);
    }
    this.#known.set(url, found);
    return found;
  }

  #find(url: string): Promise<OwnLink | undefined> | undefined {
    const all = filesOfPublicUrl(this.#sources, url);
    // Several base URLs of a source may match with the same path.
    const candidates = all.filter(
      ({ source, path }, index) =>
        all.findIndex((one) => one.source === source && one.path.equals(path)) === index,
    );
    return candidates.length === 0 ? undefined : this.#choose(url, candidates);
  }

  /** Base URLs may be nested: the link belongs to the source that has signed it, or has the file. */
  async #choose(url: string, candidates: readonly PublicFile[]): Promise<OwnLink | undefined> {
    const links = await Promise.all(candidates.map((one) => this.#linkOf(url, one)));
    const [first] = links;
    if (links.length === 1) return first;
    const signed = links.find(({ signature }) => signature !== undefined);
    if (signed !== undefined) return signed;
    for (const link of links) if ((await this.target(link)) !== undefined) return link;
    return first;
  }

  async #linkOf(url: string, file: PublicFile): Promise<OwnLink> {
    const { source, path } = file;
    const view = await this.#views.of(source);
    const shown = await this.asked(() => entryShownAt(view, path));
    const signature =
      source.settings.serve === 'signed'
        ? this.#links.signatureIn(source, path, partsOf(url).query)
        : undefined;
    const { entry = path, preset } = shown ?? {};
    return { url, source, path, view, entry, preset, kind: kindOf(shown), signature };
  }

  /** The current target of the link; undefined when it is hidden or missing. @throws errors of the stores */
  target(link: OwnLink): Promise<Target | undefined> {
    let target = this.#targets.get(link);
    if (target === undefined) this.#targets.set(link, (target = this.asked(() => this.#lookUp(link))));
    return target;
  }

  /** The target of the link if it was renamed or moved; only in sources that remember names. */
  async moved(link: OwnLink): Promise<Item | undefined> {
    if (link.source.settings.redirectMoved === undefined) return undefined;
    const target = await this.target(link);
    return target?.isMoved === true ? target.item : undefined;
  }

  /** Undefined when a request to a store fails, which is reported; without `onFailure` it throws. */
  async asked<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (this.#onFailure === undefined) throw error;
      this.#onFailure(error);
      return undefined;
    }
  }

  async #lookUp({ view, entry }: OwnLink): Promise<Target | undefined> {
    try {
      return { item: await view.lookUp(entry), isMoved: false };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      const item = await presentOf(this.#views, view, entry);
      return item && { item, isMoved: true };
    }
  }
}

const originOf = (url: string): string => /^(?:[a-z]+:)?\/\/[^/?#\\]*/iu.exec(url)?.[0] ?? '';

/** The part of a link that stands for the root of its source. */
const baseOf = ({ url, path }: OwnLink): string => {
  const names = new URL(url, NO_HOST).pathname.split('/').filter((name) => name !== '');
  const above = names.slice(0, names.length - path.segments.length);
  return `${originOf(url)}/${above.map((name) => `${name}/`).join('')}`;
};

/** A link to another file in the form of an existing link: with a host only where that has one. */
export const linkLike = (link: OwnLink, source: Source, path: SourcePath): string => {
  const { baseurl } = source;
  const other = baseurl.startsWith('/') ? originOf(link.url) + baseurl : baseurl;
  return (source === link.source ? baseOf(link) : other) + encodedPath(path);
};

/** Whether the link opens its target for every client that has it, as far as signatures are concerned. */
export const isOpen = ({ source, signature }: OwnLink): boolean =>
  source.settings.serve !== 'signed' || signature !== undefined;

/** Whether every reader of the text may see the target: as `isOpen`, and without a role. */
export const opensForAll = (link: OwnLink): boolean =>
  link.source.settings.serve !== 'protected' && isOpen(link);

/**
 * Whether a link to a moved file may be replaced by one to its current path. Other links stay: they redirect
 * readers if the rules allow it.
 */
export const mayName = ({ source }: OwnLink, target: Item): boolean => {
  const { serve } = target.source.settings;
  return serve === 'public' || (serve === 'signed' && source.settings.serve === 'signed');
};

/** The renewed link; the same when there is nothing to renew, or its signature was never valid. */
export const renewedUrl = async (
  link: OwnLink,
  own: OwnLinks,
  links: Links,
  lifetime: number | undefined,
): Promise<string> => {
  const { url, source, path, kind, preset } = link;
  if (!isOpen(link)) return url;
  const { address, query, hash } = partsOf(url);
  const target = await own.moved(link);
  const location = target && (kind === 'file' ? target.path : drawnPath(target, preset));
  if (target !== undefined && location !== undefined && mayName(link, target)) {
    const signed = links.queryFor(target.source, location, lifetime);
    return linkLike(link, target.source, location) + (signed === '' ? '' : `?${signed}`) + hash;
  }
  if (source.settings.serve !== 'signed') return url;
  return `${address}?${links.renewed(source, path, query, lifetime)}${hash}`;
};
