/** The Jodit plug-in of `stowage-browser`, under the name that it had in this package. */
export * from 'stowage-browser/jodit';
