import type { Logger } from '../basics/log/logger.ts';
import { containsLocation, type StoreLocation } from '../storage/location.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { SourceGroup } from './source-group.ts';

interface Opened extends StoreLocation {
  readonly name: string;
}

/** Pairs of sources of which the second lies in the first or is the same folder. */
export const overlapsOf = (opened: readonly Opened[]): string[] =>
  opened.flatMap((outer, number) =>
    opened.flatMap((inner, other) => {
      if (outer === inner || !containsLocation(outer, inner)) return [];
      // Two sources of one folder contain each other: they are one pair.
      if (other < number && containsLocation(inner, outer)) return [];
      return [`${outer.name} > ${inner.name}`];
    }),
  );

/**
 * Opens the configured stores in the background, so that what a killed process left behind is gone before
 * anybody asks. A store that cannot be opened now is tried again by the request that needs it. Warns once
 * when sources share entries: the rules, limits and hidden folders of one do not hold in the other.
 */
export const openAtStart = async ({ all }: SourceGroup, log: Logger): Promise<void> => {
  const opened = await Promise.all(
    all.map(async ({ name, storage }): Promise<Opened | undefined> => {
      try {
        return { name, storage: await storage(), path: SourcePath.root };
      } catch (error) {
        log.warn('A source cannot be opened.', { source: name, error });
        return undefined;
      }
    }),
  );
  const pairs = overlapsOf(opened.filter((source) => source !== undefined));
  if (pairs.length > 0)
    log.warn('Sources lie in each other: what one forbids or hides can be reached by the other.', { pairs });
};
