/**
 * The order of a walk, which every way of walking keeps, so that one can go on where another has stopped: the
 * entries of a folder by their names, with a slash behind those of folders.
 */
export const keyOf = (entry: { readonly name: string; readonly kind: 'file' | 'folder' }): string =>
  entry.kind === 'folder' ? `${entry.name}/` : entry.name;

/** Compares two entries of one folder. */
export const byKey = (left: { readonly key: string }, right: { readonly key: string }): number =>
  left.key < right.key ? -1 : left.key === right.key ? 0 : 1;

/** The key of the first name of a position, and the position below it: empty where the walk begins there. */
export const firstOf = (position: string): { readonly key: string; readonly below: string } => {
  const end = position.indexOf('/') + 1;
  return end === 0
    ? { key: position, below: '' }
    : { key: position.slice(0, end), below: position.slice(end) };
};
