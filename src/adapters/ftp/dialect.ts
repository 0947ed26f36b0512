/** What is known of a server, found out by use. */
export interface Dialect {
  /** MLSD and MLST of RFC 3659; else LIST. */
  hasFacts: boolean;
  /** STAT shows a file as `ls` does. */
  hasStat: boolean;
  /** How LIST shows hidden names too; undefined: not known yet. */
  list: 'LIST' | 'LIST -a' | undefined;
}
