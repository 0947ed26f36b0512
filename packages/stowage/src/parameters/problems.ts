/** What users call the parameters that they can get wrong. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['name', 'The name'],
  ['newname', 'The new name'],
  ['path', 'The folder'],
  ['from', 'The item'],
  ['url', 'The address'],
  ['html', 'The document'],
  ['box', 'The box'],
  ['box[w]', 'The width'],
  ['box[h]', 'The height'],
  ['box[x]', 'The left edge'],
  ['box[y]', 'The top edge'],
]);

/** A parameter as requests write it: `mods[limit]`. */
export const nameOf = ([first = 'parameters', ...rest]: readonly PropertyKey[]): string =>
  String(first) + rest.map((key) => `[${String(key)}]`).join('');

/**
 * What is said of a problem with a parameter: a sentence where users have filled it in, and its name where a
 * client has made it up, such as `mods[limit]: must be a number`.
 */
export const problemOf = (
  [first = 'parameters', ...rest]: readonly PropertyKey[],
  message: string,
): string => {
  if (message.endsWith('.')) return message;
  const name = nameOf([first, ...rest]);
  const words = WORDS.get(name);
  return words === undefined ? `${name}: ${message}` : `${words} ${message}.`;
};
