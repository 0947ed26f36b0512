import type { Links } from '../../sources/links.ts';
import type { Thumbnails, Variants } from '../../pictures/kept/thumbnails.ts';
import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenSource } from '../../view/open-source.ts';
import { FILE_KEYS, mayOpen, VARIANT_KEYS } from '../serving/keys.ts';
import { accessTest } from '../../view/visibility.ts';

/** What links are made with. */
export interface LinkServices {
  readonly links: Links;
  readonly thumbnails: Pick<Thumbnails, 'iconNamed'>;
}

/**
 * The address of a file, for the one who asks: in `signed` sources it opens only for whom the rules let
 * download it.
 */
export const linkOf = (
  { links }: Pick<LinkServices, 'links'>,
  { source, access }: OpenSource,
  path: SourcePath,
): string => links.to(source, path, { mayOpen: mayOpen(access, path) });

/**
 * The address of a file that was just written, as `newPath` has it: where the service does not serve it,
 * joined as clients join it, with names that are not encoded.
 */
export const writtenLinkOf = (
  services: Pick<LinkServices, 'links'>,
  open: OpenSource,
  path: SourcePath,
): string =>
  open.source.settings.serve === 'off'
    ? `${open.source.baseurl}${path.toString()}`
    : linkOf(services, open, path);

/** The links of the entries of one folder, for the one who asks. */
export interface FolderLinks {
  /** Whether the rules let the reader open the entry by a link, where they count: see `serve`. */
  readonly mayOpen: (entry: Entry) => boolean;
  /** Undefined where links are made of `baseurl` and names, and to what the reader may not have. */
  readonly file: (entry: Entry) => string | undefined;
  /** The link of what shows an entry, by its path relative to the folder; an icon is for everybody. */
  readonly thumb: (entry: Entry, relative: string | undefined) => string | undefined;
  readonly variants: (entry: Entry, relative: Variants) => Variants | undefined;
}

const all = (): boolean => true;

/** Makes the links of a folder. Which rules count is decided once, and not for every entry where it is all one. */
export const folderLinks = (
  { links, thumbnails }: LinkServices,
  { source, access }: OpenSource,
  folder: SourcePath,
): FolderLinks => {
  const { serve } = source.settings;
  const isGuarded = serve === 'protected' || serve === 'signed';
  const testOf = (keys: readonly string[]): ((entry: Entry) => boolean) => {
    const tests = keys.map((key) => accessTest(access, key, folder));
    return isGuarded ? (entry) => tests.every((test) => test(entry)) : all;
  };
  const [opens, opensVariants] = [testOf(FILE_KEYS), testOf(VARIANT_KEYS)];
  const signed = (path: SourcePath, isOpen: boolean): string | undefined =>
    serve === 'signed' && isOpen ? links.to(source, path, { mayOpen: isOpen }) : undefined;
  /** Names below the folder are encoded; an entry itself is not. */
  const below = (relative: string): SourcePath =>
    relative
      .split('/')
      .map((name, index, names) => (names.length > 1 && index > 0 ? decodeURIComponent(name) : name))
      .reduce((path, name) => path.below(name), folder);
  return {
    mayOpen: opens,
    file: (entry) => signed(folder.below(entry.name), opens(entry)),
    thumb: (entry, relative) => {
      if (serve !== 'signed' || relative === undefined) return relative;
      const path = below(relative);
      const isIcon = entry.kind === 'folder' || thumbnails.iconNamed(source, path.name) !== undefined;
      return signed(path, isIcon || opens(entry));
    },
    variants: (entry, relative) => {
      if (!opensVariants(entry)) return undefined;
      if (serve !== 'signed') return relative;
      const made = Object.entries(relative).map(([preset, path]) => [
        preset,
        signed(below(path), true) ?? '',
      ]);
      return Object.fromEntries(made) as Variants;
    },
  };
};
