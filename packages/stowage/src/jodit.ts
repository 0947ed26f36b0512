/** The Jodit plug-in of `stowage-browser`, re-exported under its former name in this package. */
export * from 'stowage-browser/jodit';
