import { isSegment } from '../../../storage/source-path.ts';

/** The URL of what lies below the root collection. */
export const urlOf = (root: URL, segments: readonly string[], kind: 'file' | 'folder'): URL => {
  const encoded = segments.map(encodeURIComponent).join('/');
  const slash = kind === 'folder' && encoded !== '' ? '/' : '';
  return new URL(root.origin + root.pathname + encoded + slash);
};

/**
 * The segments of an href, decoded: it may be a path or a URL, percent-encoded in the server's own way.
 * Undefined for what cannot be read.
 */
export const segmentsOfHref = (href: string): readonly string[] | undefined => {
  const path = href.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/iu, '').split(/[?#]/u, 1)[0] ?? '';
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map((segment) => decodeURIComponent(segment));
  } catch {
    return undefined;
  }
};

/** Also in another letter case: servers that fold it may answer with the name as it is stored. */
const isSame = (one: string, other: string | undefined): boolean =>
  one === other || one.toLowerCase() === other?.toLowerCase();

/**
 * Where an href lies, seen from a folder: itself, one of its entries, or elsewhere. Names are composed;
 * `written` is how the server writes that of an entry.
 */
export const relationOf = (
  folder: readonly string[],
  href: string,
):
  | { readonly kind: 'self' }
  | { readonly kind: 'child'; readonly name: string; readonly written: string }
  | { readonly kind: 'other' } => {
  const written = segmentsOfHref(href);
  const segments = written?.map((segment) => segment.normalize('NFC'));
  if (segments === undefined || !folder.every((segment, index) => isSame(segment, segments[index])))
    return { kind: 'other' };
  if (segments.length === folder.length) return { kind: 'self' };
  const name = segments[folder.length];
  if (segments.length !== folder.length + 1 || name === undefined || !isSegment(name))
    return { kind: 'other' };
  return { kind: 'child', name, written: written?.at(-1) ?? name };
};
