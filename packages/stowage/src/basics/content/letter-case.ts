/**
 * A text in a form that all its spellings in other letter cases share. Both ways, because some letters have
 * one upper-case form for several lower-case ones (σ and ς, s and ſ), others the reverse.
 */
export const withoutCase = (text: string): string =>
  // Most names: the rest is expensive when there are 100,000 of them.
  /^[\u0000-\u007f]*$/u.test(text) ? text.toUpperCase() : text.normalize('NFC').toLowerCase().toUpperCase();

/** As people search: the dot of İ is all that would keep `istanbul` from İstanbul. */
const searched = (text: string): string => withoutCase(text).replaceAll('I\u0307', 'I');

/** The test whether a name holds all of these words, whatever their case. */
export const holdsWords = (words: readonly string[]): ((name: string) => boolean) => {
  const wanted = words.map(searched);
  return (name) => {
    const text = searched(name);
    return wanted.every((word) => text.includes(word));
  };
};

/**
 * What tells names and paths apart in a store: the text itself, or without its case where the store takes `a`
 * and `A` for one.
 */
export const foldedFor = (
  { capabilities }: { readonly capabilities: { readonly caseSensitive: boolean } },
  text: string,
): string => (capabilities.caseSensitive ? text : withoutCase(text));
