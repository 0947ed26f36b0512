/** A value as parameters arrive: text from queries and forms, anything JSON knows from JSON bodies. */
export type RawValue =
  string | number | boolean | null | readonly RawValue[] | { readonly [key: string]: RawValue };

/** All parameters of a request after precedence, by their top-level name. Has no prototype. */
export type RawParameters = Readonly<Record<string, RawValue | undefined>>;
