import { fragmentOf } from './anchors.ts';
import type { FlowParts } from './flow-parts.ts';

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:', 'ftp:']);

/**
 * The address of a link that may stand in a document: absolute, with a scheme that opens a page, mail or telephone; or `#` and the name of a
 * bookmark. Undefined for everything else (`javascript:`, `file:`, places that are not there, addresses relative to nothing).
 */
export const linkTarget = (
  href: string | undefined,
  { base, anchors }: Pick<FlowParts, 'base' | 'anchors'>,
): string | undefined => {
  if (href === undefined || href.trim() === '') return undefined;
  if (href.trim().startsWith('#')) {
    const bookmark = anchors.get(fragmentOf(href) ?? '');
    return bookmark === undefined ? undefined : `#${bookmark}`;
  }
  try {
    const url = new URL(href.trim(), base?.startsWith('http') === true ? base : 'relative:/');
    return SCHEMES.has(url.protocol) ? url.href : protocolRelative(href.trim());
  } catch {
    return protocolRelative(href.trim());
  }
};

const protocolRelative = (href: string): string | undefined =>
  href.startsWith('//') && URL.canParse(`https:${href}`) ? new URL(`https:${href}`).href : undefined;
