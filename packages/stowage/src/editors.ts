/** Uploads and the picker in editors, of `stowage-browser`. */
export * from 'stowage-browser/editors';
