/** Uploads and the picker for editors, of `stowage-browser`. */
export * from 'stowage-browser/editors';
