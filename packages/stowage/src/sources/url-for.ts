import type { Settings } from '../config/settings.ts';
import { InvalidParametersError, UnknownSourceError } from '../errors/errors.ts';
import { seenFrom } from './own-address.ts';
import type { SourceSet } from './source.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Links, UrlFor } from './links.ts';

/** Links to files of the configured sources. */
export const createUrlFor =
  ({ publicUrl }: Pick<Settings, 'publicUrl'>, sources: SourceSet, links: Links): UrlFor =>
  (name, path, { lifetime, base = publicUrl ?? '' } = {}) => {
    const source = seenFrom({ mount: base.replace(/\/$/u, ''), hosts: [] }, sources, undefined).find(name);
    if (source === undefined) throw new UnknownSourceError();
    if (lifetime !== undefined && !(Number.isSafeInteger(lifetime) && lifetime > 0)) {
      throw new InvalidParametersError('lifetime: must be a whole number of seconds, and more than none');
    }
    return links.to(source, SourcePath.parse(path), { mayOpen: true, lifetime });
  };
