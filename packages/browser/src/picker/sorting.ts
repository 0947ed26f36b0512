/** The orders that listings know. */
export const sortings = [
  'name-asc',
  'name-desc',
  'changed-desc',
  'changed-asc',
  'size-desc',
  'size-asc',
] as const;
export type Sorting = (typeof sortings)[number];
