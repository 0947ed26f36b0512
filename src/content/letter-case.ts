/**
 * A text in a form that all its spellings in other letter cases share. Both ways, because some letters have
 * one upper-case form for several lower-case ones (σ and ς, s and ſ), others the reverse.
 */
export const withoutCase = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase();

/**
 * What tells names and paths apart in a store: the text itself, or without its case where the store takes `a`
 * and `A` for one.
 */
export const foldedFor = (
  { capabilities }: { readonly capabilities: { readonly caseSensitive: boolean } },
  text: string,
): string => (capabilities.caseSensitive ? text : withoutCase(text));
