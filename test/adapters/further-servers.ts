import { describe, it } from 'vitest';
import { isInTurn, runsEverything } from '../before-release.ts';

/** Themes of the suite that depend on a server of WebDAV more than on the adapter. */
export const OF_SERVERS: readonly string[] = ['names', 'write', 'copy', 'removal'];

/** Selects what a further server or variant runs of the suite: these themes, unless everything runs. */
export const onlyThemes =
  (themes: readonly string[]) =>
  (theme: string): boolean =>
    runsEverything || themes.includes(theme);

/**
 * For stores that share the core of another one. Faults are tested once for each core: they come between the port and
 * the adapter, and what reaches a store then are ordinary operations, which the other themes test on all.
 */
export const withoutFaults = (theme: string): boolean => runsEverything || theme !== 'faults';

/** `describe` for the suite of this title: it passes on the title and the selected themes. */
export const describeThemes =
  (suite: string, runs: (theme: string) => boolean) =>
  (title: string, body: () => void): void => {
    if (title === suite || runs(title)) describe(title, body);
  };

/**
 * For Azure and Google, which share their core and run its cases in turn. The cases have stores of their own,
 * and mostly wait for the server: five at the same time.
 */
export const inTurn = (server: 0 | 1) =>
  Object.assign(
    (title: string, body: () => Promise<void>): void => {
      if (isInTurn(server, title)) it.concurrent(title, body);
    },
    { skip: it.skip },
  );
