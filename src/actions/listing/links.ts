import type { Links } from '../../links/links.ts';
import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/**
 * Makes the links of what lies below a folder, by relative paths as listings name them: the names below it
 * are encoded. Undefined where links are made of `baseurl` and names.
 */
export const linksBelow = (
  links: Links,
  source: Source,
  folder: SourcePath,
): ((relative: string) => string) | undefined => {
  if (source.settings.serve !== 'signed') return undefined;
  return (relative) => {
    const names = relative
      .split('/')
      .map((name, index, all) => (all.length > 1 && index > 0 ? decodeURIComponent(name) : name));
    return links.to(
      source,
      names.reduce((path, name) => path.below(name), folder),
    );
  };
};
