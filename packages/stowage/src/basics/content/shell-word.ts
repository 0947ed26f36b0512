/** A text as one word of a shell command, for messages that operators copy. */
export const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
