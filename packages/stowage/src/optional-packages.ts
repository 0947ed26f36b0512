import { fileURLToPath } from 'node:url';
import { adapterTable, packagesOfAdapter } from './adapters/table.ts';
import type { ConnectorConfig } from './config/types.ts';
import { orUndefined } from './errors/errors.ts';

export interface OptionalPackage {
  readonly name: string;
  /** The part of the configuration that does not work without it. */
  readonly purpose: string;
}

const inOrderOfTable = (sources: ConnectorConfig['sources']): ConnectorConfig['sources'] =>
  Object.keys(adapterTable).flatMap((kind) => sources.filter((one) => one.storageAdapter === kind));

/** Packages that the configuration requires. */
export const packagesOf = ({ sources, settings }: ConnectorConfig): readonly OptionalPackage[] => [
  ...inOrderOfTable(sources).flatMap(({ name: source, storageAdapter, adapterOptions, settings }) => {
    const isRedirected = settings.serve !== 'off' && settings.delivery === 'redirect';
    const whole = `the source ${JSON.stringify(source)}`;
    return packagesOfAdapter(storageAdapter, adapterOptions, isRedirected).map(({ name, part }) => ({
      name,
      purpose: part === undefined ? whole : `${part} of ${whole}`,
    }));
  }),
  ...(settings.auth?.jwt === undefined ? [] : [{ name: 'jose', purpose: 'auth.jwt' }]),
  ...(settings.rateLimits === undefined ? [] : [{ name: 'rate-limiter-flexible', purpose: 'rateLimits' }]),
  ...(settings.redis === undefined ? [] : [{ name: 'ioredis', purpose: 'redis' }]),
];

/** Path of the entry file of a package; undefined when it is not installed. */
export const entryOf = (name: string): string | undefined =>
  orUndefined(() => fileURLToPath(import.meta.resolve(name)));

/** One sentence for each package that is not installed, with the command that installs it. */
export const missingPackages = (packages: readonly OptionalPackage[]): readonly string[] =>
  // Bundlers and test runners may omit the function; then nothing is reported.
  (typeof import.meta.resolve === 'function' ? packages : [])
    .filter(({ name }) => entryOf(name) === undefined)
    .map(
      ({ name, purpose }) =>
        `${purpose} needs the npm package "${name}", which is not installed here: npm install ${name}`,
    );
