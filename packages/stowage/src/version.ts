import { createRequire } from 'node:module';

/** Reads the version of this package from its manifest. Called once per instance, before it serves. */
export const readVersion = (): string => {
  const manifest = createRequire(import.meta.url)('../package.json') as { readonly version: string };
  return manifest.version;
};
