/**
 * Themes of the suite that depend on the server more than on the adapter. The others run on further servers of WebDAV and FTP before a release
 * only: with `STOWAGE_ALL_SERVERS=1`.
 */
const OF_SERVERS: readonly string[] = ['names', 'write', 'copy', 'removal'];

/** Whether a theme of the suite runs on a further server. */
export const runsOnFurther = (theme: string): boolean =>
  process.env['STOWAGE_ALL_SERVERS'] === '1' || OF_SERVERS.includes(theme);
