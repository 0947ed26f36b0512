import { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { InvalidParametersError } from '../../errors/errors.ts';
import { requireLifetime } from '../../view/links.ts';
import type { SourceViews } from '../../view/source-views.ts';
import { loadParser, tagsOf } from './html-tags.ts';
import {
  addAttributes,
  type Edit,
  edited,
  editAttribute,
  linkAttributesOf,
  linksOf,
  type Tag,
} from './link-attributes.ts';
import { type OwnLink, OwnLinks, renewedUrl } from './own-links.ts';
import { pictureAttributes, type PictureOptions, type PictureServices } from './picture-attributes.ts';

export interface TextOptions {
  /**
   * The mount of the connector, as the links of the text contain it (default: `publicUrl`, else `basePath`,
   * else the host's root).
   */
  readonly base?: string | undefined;
  /**
   * For links to a tenant's sources: `resolveSources` gets these fields as a request, and finds the tenant by
   * them. Absent: the configured sources.
   */
  readonly request?:
    | {
        readonly url?: string;
        readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
        readonly native?: unknown;
      }
    | undefined;
}

export interface RenewOptions extends TextOptions, PictureOptions {}

/** A link of a text to a file of a source. */
export interface FoundLink {
  /** Name of the source. */
  readonly source: string;
  /** Path inside the source, without a leading slash; of a thumbnail or variant that of the original. */
  readonly path: string;
  readonly kind: 'file' | 'thumbnail' | 'variant';
  /** Set for a variant. */
  readonly preset?: string;
  /** It has a valid or expired signature of this service. */
  readonly signed?: true;
  /** Its signature has expired. */
  readonly expired?: true;
  /** The file had this name, and is now at `source` and `path`: see `redirectMoved`. */
  readonly moved?: true;
}

/**
 * Renews the own links of a text: a link of a `signed` source with a valid or expired signature gets a new
 * one, and a link to a moved file gets its current path. Everything else stays byte for byte. Stores are read
 * only for moved files, where sources remember names, and for `sizes` and `srcset`; a failing store is
 * logged.
 * @throws InvalidParametersError for options that are not valid, texts of more than 16 MB and with more than
 *   20,000 different own links; UnsupportedError without the package parse5
 */
export type RenewLinks = (html: string, options?: RenewOptions) => Promise<string>;

/**
 * Lists the own links of a text, with repetitions, in its order. The files need not exist.
 * @throws the errors of `renewLinks`; errors of the stores
 */
export type LinksIn = (html: string, options?: TextOptions) => Promise<readonly FoundLink[]>;

export interface TextServices extends PictureServices {
  readonly log: Logger;
  /** Opens the sources, with their addresses in texts, until the work is done. No access control. */
  readonly inSources: <T>(options: TextOptions, work: (views: SourceViews) => Promise<T>) => Promise<T>;
}

/** Tags whose files are looked up concurrently. */
const AT_ONCE = 8;

const foundLink = async (own: OwnLinks, link: OwnLink): Promise<FoundLink> => {
  const { source, entry, kind, preset, signature } = link;
  const moved = await own.moved(link);
  return {
    source: (moved?.source ?? source).name,
    path: (moved?.path ?? entry).toString(),
    kind,
    ...(preset === undefined ? {} : { preset }),
    ...(signature === undefined ? {} : { signed: true }),
    ...(signature === 'expired' ? { expired: true } : {}),
    ...(moved === undefined ? {} : { moved: true }),
  };
};

const requireOptions = ({ lifetime, sizes, srcset = [] }: RenewOptions, views: SourceViews): void => {
  requireLifetime(lifetime);
  if (sizes !== undefined && typeof sizes !== 'boolean')
    throw new InvalidParametersError('sizes: must be true or false');
  if (typeof srcset === 'string') throw new InvalidParametersError('srcset: must be a list');
  const known = views.named(undefined).flatMap(({ settings }) => Object.keys(settings.imagePresets));
  const unknown = srcset.find((preset) => !known.includes(preset));
  if (unknown !== undefined)
    throw new InvalidParametersError(`srcset: no source has a preset ${JSON.stringify(unknown)}`);
};

const requireText = (html: unknown): void => {
  if (typeof html !== 'string') throw new InvalidParametersError('html: must be a text');
};

const editsOf = async (
  services: PictureServices,
  { html, own, slice }: { readonly html: string; readonly own: OwnLinks; readonly slice: TimeSlice },
  tag: Tag,
  options: RenewOptions,
): Promise<readonly Edit[]> => {
  const found = linkAttributesOf(tag);
  const addresses = new Map<string, string>();
  for (const url of found.flatMap(linksOf)) {
    if (slice.due) await slice.rest();
    const link = await own.find(url);
    if (link !== undefined) addresses.set(url, await renewedUrl(link, own, services.links, options.lifetime));
  }
  if (addresses.size === 0) return [];
  const src = tag.attributes.get('src');
  const picture = tag.name === 'img' && src !== undefined ? await own.find(src.value.trim()) : undefined;
  const added = picture && (await pictureAttributes(services, { own, link: picture, tag }, options));
  return [
    ...found.flatMap((attribute) => editAttribute(html, attribute, (url) => addresses.get(url) ?? url)),
    ...(src === undefined || added === undefined ? [] : addAttributes(src, added)),
  ];
};

export const createTextLinks = (
  services: TextServices,
): { readonly renewLinks: RenewLinks; readonly linksIn: LinksIn } => {
  const { links, log, signal, inSources } = services;
  const renewIn = async (views: SourceViews, html: string, options: RenewOptions): Promise<string> => {
    requireOptions(options, views);
    const own = new OwnLinks(views, links, (error) => {
      log.warn('A file that a text shows could not be looked up.', { error });
    });
    const slice = new TimeSlice(signal);
    const edits: Edit[] = [];
    for await (const tags of tagsOf(html, loadParser, slice)) {
      let next = 0;
      const work = async (): Promise<void> => {
        for (let tag = tags[next++]; tag !== undefined; tag = tags[next++])
          edits.push(...(await editsOf(services, { html, own, slice }, tag, options)));
      };
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, tags.length) }, work)).finally(() => {
        next = tags.length;
      });
    }
    return edited(html, edits);
  };
  const findIn = async (views: SourceViews, html: string): Promise<readonly FoundLink[]> => {
    const own = new OwnLinks(views, links);
    const slice = new TimeSlice(signal);
    const found: FoundLink[] = [];
    for await (const tags of tagsOf(html, loadParser, slice))
      for (const url of tags.flatMap(linkAttributesOf).flatMap(linksOf)) {
        if (slice.due) await slice.rest();
        const link = await own.find(url);
        if (link !== undefined) found.push(await foundLink(own, link));
      }
    return found;
  };
  return {
    renewLinks: async (html, options = {}) => {
      requireText(html);
      return inSources(options, (views) => renewIn(views, html, options));
    },
    linksIn: async (html, options = {}) => {
      requireText(html);
      return inSources(options, (views) => findIn(views, html));
    },
  };
};
