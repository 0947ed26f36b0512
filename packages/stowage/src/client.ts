/** The client of `stowage-browser`, under the name that it had in this package. */
export * from 'stowage-browser';
