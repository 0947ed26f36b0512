import { isSegment, type SourcePath } from '../../storage/source-path.ts';

/** The URL of a path below the root collection. */
export const urlOf = (root: URL, path: SourcePath, kind: 'file' | 'folder'): URL => {
  const encoded = path.segments.map(encodeURIComponent).join('/');
  const slash = kind === 'folder' && encoded !== '' ? '/' : '';
  return new URL(root.origin + root.pathname + encoded + slash);
};

/**
 * The segments of an href, decoded: it may be a path or a URL, percent-encoded in the server's own way. Undefined for what cannot be read.
 */
export const segmentsOfHref = (href: string): readonly string[] | undefined => {
  const path = href.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/iu, '').replace(/[?#].*$/u, '');
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map((segment) => decodeURIComponent(segment).normalize('NFC'));
  } catch {
    return undefined;
  }
};

/** Where an href lies, seen from a folder: itself, one of its entries, or elsewhere. */
export const relationOf = (
  folder: readonly string[],
  href: string,
):
  | { readonly kind: 'self' }
  | { readonly kind: 'child'; readonly name: string }
  | { readonly kind: 'other' } => {
  const segments = segmentsOfHref(href);
  if (segments === undefined || !folder.every((segment, index) => segment === segments[index]))
    return { kind: 'other' };
  if (segments.length === folder.length) return { kind: 'self' };
  const name = segments[folder.length];
  if (segments.length !== folder.length + 1 || name === undefined || !isSegment(name))
    return { kind: 'other' };
  return { kind: 'child', name };
};
