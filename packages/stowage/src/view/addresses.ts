import type { SourceLocation, Thumbnails } from '../pictures/kept/thumbnails.ts';
import type { EntryKind } from '../storage/entry.ts';
import { below, encodedPath } from './links.ts';

/** What has addresses, or had them. */
export interface Addressed extends SourceLocation {
  readonly kind: EntryKind;
}

/** Without what a browser takes for something else than a part of a path, or leaves out. */
const asWritten = (path: string): string => path.replace(/[%?#\\\s]/gu, encodeURIComponent);

/** What a browser requests for a path that a page has joined from names: it encodes less than links do. */
const asRequested = (path: string): string => new URL(`http://host/${path}`).pathname.slice(1);

/**
 * The addresses under which pages may show an item: of a file its own, and those of its thumbnail and variants, as
 * listings have them; of a folder the one that all in it begin with, with a slash at its end. They have no
 * signature. Where a page that joins names requests another spelling than links have (`a+b`, `a%2Bb`), both are
 * there: at most 2 for each, thus 44 with the 20 presets that a source may have. Computed from names alone,
 * in some 10 µs.
 */
export const addressesOf = (
  { drawnNames }: Pick<Thumbnails, 'drawnNames'>,
  { source, path, kind }: Addressed,
): readonly string[] => {
  const { parent, name } = path;
  const end = kind === 'folder' ? '/' : '';
  const folder = parent.isRoot ? '' : `${asWritten(parent.toString())}/`;
  const drawn = drawnNames(source, { name, kind }).flatMap((relative) => [
    encodedPath(below(parent, relative)),
    asRequested(folder + relative),
  ]);
  const own = [encodedPath(path) + end, asRequested(folder + asWritten(name)) + end];
  return [...new Set([...own, ...drawn])].map((address) => source.baseurl + address);
};
