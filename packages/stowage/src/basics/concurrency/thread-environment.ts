/** The environment of threads: no secrets. Yarn Plug'n'Play loads their files by the options in it alone. */
export const threadEnvironment = (): Readonly<Record<string, string>> =>
  process.versions['pnp'] === undefined ? {} : { NODE_OPTIONS: process.env['NODE_OPTIONS'] ?? '' };
