import type { Source, SourceSet } from './source.ts';

/** The first segment of the paths that files are served below. */
export const FILE_ROUTE = 'file';

/** Where the service serves the files of a source: `<mount>/file/<source>/`. */
export const servedBelow = (mount: string, { name }: Pick<Source, 'name'>): string =>
  `${mount}/${FILE_ROUTE}/${encodeURIComponent(name)}/`;

/** What a request says of the address that it came to. */
export interface RequestAddress {
  /** The path that the service is mounted below, without a slash at the end. */
  readonly mount: string;
  /**
   * Hosts that the browser may know the service by: a path is shown on them. Never trusted, only compared.
   */
  readonly hosts: readonly string[];
}

const originsOf = (hosts: readonly string[]): string[] =>
  // A client may write anything into the header `Host`.
  hosts.flatMap((host) => [`https://${host}`, `http://${host}`]).filter((origin) => URL.canParse(origin));

/**
 * The sources as a request sees them: those that have no `baseurl` get the address that the request came to,
 * and what has only a path is recognised in absolute links to the hosts of the request too.
 */
export const seenFrom = (
  { mount, hosts }: RequestAddress,
  sources: SourceSet,
  publicUrl: string | undefined,
): SourceSet => {
  if (!sources.all.some(({ baseurl }) => baseurl.startsWith('/'))) return sources;
  const base = publicUrl === undefined ? mount : publicUrl.replace(/\/$/u, '');
  const seen = new Map(
    sources.all.map((source): [Source, Source] => {
      if (!source.baseurl.startsWith('/')) return [source, source];
      const baseurl = source.servesItself ? servedBelow(base, source) : source.baseurl;
      const path = new URL(baseurl, 'http://host').pathname;
      const aliases = originsOf(hosts).map((origin) => origin + path);
      return [source, { ...source, baseurl, baseurlAliases: [...source.baseurlAliases, path, ...aliases] }];
    }),
  );
  return {
    all: [...seen.values()],
    find: (name) => {
      const found = sources.find(name);
      return found === undefined ? undefined : seen.get(found);
    },
  };
};
