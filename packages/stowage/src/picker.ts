/** The picker of `stowage-browser`. */
export * from 'stowage-browser/picker';
