const NON_ASCII = /[^\u0000-\u007f]/u;

/** The name as decomposed text, where that is another text: some systems store names so. */
export const decomposed = (name: string): string | undefined => {
  if (!NON_ASCII.test(name)) return undefined;
  const form = name.normalize('NFD');
  return form === name ? undefined : form;
};
