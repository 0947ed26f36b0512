import { describe } from 'vitest';

/**
 * Themes of the suite that depend on the server more than on the adapter. The others run on further servers of WebDAV and FTP before a release
 * only: with `STOWAGE_ALL_SERVERS=1`.
 */
const OF_SERVERS: readonly string[] = ['names', 'write', 'copy', 'removal'];

/**
 * For an odd service of S3, and the object stores beside it, which share its core. Faults are tested once for each
 * core: they come between the port and the adapter, and what reaches a store then are ordinary operations, which the other themes
 * test on all.
 */
export const describeWithoutFaults = (title: string, body: () => void): void => {
  if (title !== 'faults' || process.env['STOWAGE_ALL_SERVERS'] === '1') describe(title, body);
};

/** Whether a theme of the suite runs on a further server. */
export const runsOnFurther = (theme: string): boolean =>
  process.env['STOWAGE_ALL_SERVERS'] === '1' || OF_SERVERS.includes(theme);
