const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:', 'ftp:']);

/**
 * The address of a link that may stand in a document: absolute, with a scheme that opens a page, mail or telephone. Undefined for everything
 * else (`javascript:`, `file:`, places inside the page, addresses relative to nothing).
 */
export const linkTarget = (href: string | undefined, base: string | undefined): string | undefined => {
  if (href === undefined || href.trim() === '' || href.trim().startsWith('#')) return undefined;
  try {
    const url = new URL(href.trim(), base?.startsWith('http') === true ? base : 'relative:/');
    return SCHEMES.has(url.protocol) ? url.href : protocolRelative(href.trim());
  } catch {
    return protocolRelative(href.trim());
  }
};

const protocolRelative = (href: string): string | undefined =>
  href.startsWith('//') && URL.canParse(`https:${href}`) ? new URL(`https:${href}`).href : undefined;
