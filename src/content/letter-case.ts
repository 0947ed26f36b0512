/**
 * A text in a form that all its spellings in other letter cases share. Both ways, because some letters have one upper-case form for several
 * lower-case ones (σ and ς, s and ſ), others the reverse.
 */
export const withoutCase = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase();
