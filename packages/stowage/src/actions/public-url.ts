import { UnsafeNameError, UnsafePathError } from '../errors/errors.ts';
import { MOST_ADDRESS_UNITS } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import { SourcePath } from '../storage/source-path.ts';

/** Decodes once. What is not an encoding of UTF-8 (a lone `%`, as browsers leave it) stands for itself. */
const decoded = (segment: string): string =>
  segment.replaceAll(/(?:%[0-9a-f]{2})+/giu, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });

const segmentsOf = (url: URL): string[] =>
  url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);

/** Stands for the host of URLs that have none. */
const NO_HOST = 'http://no-host.invalid';

/** Absolute, protocol-relative or path-only; anything else (`a.jpg`, `mailto:`) names no public file. */
const parseUrl = (text: string, base: string): URL | undefined => {
  if (text.length > MOST_ADDRESS_UNITS) return undefined;
  if (!/^(?:https?:)?\/\/|^\//iu.test(text) || !URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return url.username === '' && url.password === '' ? url : undefined;
};

/**
 * Where a public URL points inside a source: scheme, host and port must be those of `baseurl` (as far as the
 * URL has them), and its path must begin with that of `baseurl`, compared by whole decoded segments. Query
 * and fragment do not count. Undefined when the URL lies elsewhere or can be no path of a source; the root
 * itself is not a file.
 */
const pathOfPublicUrl = (text: string, baseurl: string): SourcePath | undefined => {
  // Of a base that is only a path, absolute links are recognised by its aliases.
  const base = new URL(baseurl, NO_HOST);
  const url = parseUrl(text.trim(), base.href);
  if (url?.origin !== base.origin) return undefined;
  const prefix = segmentsOf(base);
  const segments = segmentsOf(url);
  if (!prefix.every((part, index) => segments[index] === part)) return undefined;
  try {
    const inside = segments.slice(prefix.length);
    // Segment by segment: an encoded slash or dot inside one is refused, not read as a way.
    return inside.length === 0
      ? undefined
      : inside.reduce((path, segment) => path.child(segment), SourcePath.root);
  } catch (error) {
    if (error instanceof UnsafeNameError || error instanceof UnsafePathError) return undefined;
    throw error;
  }
};

/** A file of a source that a public URL may mean. */
export interface PublicFile {
  readonly source: Source;
  readonly path: SourcePath;
}

/**
 * The files that a public URL may mean, by `baseurl` and `baseurlAliases` of all sources. Base URLs may lie
 * inside one another: the closest is first.
 */
export const filesOfPublicUrl = (sources: readonly Source[], url: string): PublicFile[] =>
  sources
    .flatMap((source) =>
      [...new Set([source.baseurl, ...source.baseurlAliases])].flatMap((baseurl) => {
        const path = pathOfPublicUrl(url, baseurl);
        return path === undefined ? [] : [{ source, path }];
      }),
    )
    // The shorter the path inside, the longer the base URL.
    .sort((one, other) => one.path.segments.length - other.path.segments.length);
