import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Item } from '../../view/folder-view.ts';
import { encodedPath, type Links } from '../../view/links.ts';
import { drawnPath } from '../serving/serve-file.ts';
import { type OwnLink, type OwnLinks, partsOf } from './own-links.ts';

/** Stands for the host of links that have none. */
const NO_HOST = 'http://no-host.invalid';

const originOf = (url: string): string => /^(?:[a-z]+:)?\/\/[^/?#\\]*/iu.exec(url)?.[0] ?? '';

/** The beginning of a link as it is written: what stands there for the root of its source. */
const baseOf = ({ url, path }: OwnLink): string => {
  const names = new URL(url, NO_HOST).pathname.split('/').filter((name) => name !== '');
  const above = names.slice(0, names.length - path.segments.length);
  return `${originOf(url)}/${above.map((name) => `${name}/`).join('')}`;
};

/** A link to something else, in the form of a link of the text: with a host only where that has one. */
export const linkLike = (link: OwnLink, source: Source, path: SourcePath): string => {
  const { baseurl } = source;
  const other = baseurl.startsWith('/') ? originOf(link.url) + baseurl : baseurl;
  return (source === link.source ? baseOf(link) : other) + encodedPath(path);
};

/** Whether a link opens what it leads to for everybody who has it, as far as signatures decide. */
export const isOpen = ({ source, signature }: OwnLink): boolean =>
  source.settings.serve !== 'signed' || signature !== undefined;

/** Whether a reader of the text may see what the link shows, whoever has written it: as `isOpen`, and not by a role. */
export const opensForAll = (link: OwnLink): boolean =>
  link.source.settings.serve !== 'protected' && isOpen(link);

/**
 * Whether a link to what has moved may be replaced by one to where it is now. Other links stay: whoever follows
 * them is led there if they may read it.
 */
export const mayName = ({ source }: OwnLink, target: Item): boolean => {
  const { serve } = target.source.settings;
  return serve === 'public' || (serve === 'signed' && source.settings.serve === 'signed');
};

/**
 * The link that is to stand in place of one: the same where there is nothing to renew. A link of a `signed` source
 * that never was valid stays as it is.
 */
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
  const place = target && (kind === 'file' ? target.path : drawnPath(target, preset));
  if (target !== undefined && place !== undefined && mayName(link, target)) {
    const signed = links.queryFor(target.source, place, lifetime);
    return linkLike(link, target.source, place) + (signed === '' ? '' : `?${signed}`) + hash;
  }
  if (source.settings.serve !== 'signed') return url;
  return `${address}?${links.renewed(source, path, query, lifetime)}${hash}`;
};
