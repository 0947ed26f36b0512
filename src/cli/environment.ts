/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's text; one that is set to nothing counts as not set. */
export const variable = (environment: Environment, name: string): string | undefined => {
  const text = environment[name];
  return text === '' ? undefined : text;
};
