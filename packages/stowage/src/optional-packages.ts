import { fileURLToPath } from 'node:url';
import { adapterTable, packagesOfAdapter } from './adapters/table.ts';
import type { ConnectorConfig } from './config/types.ts';

export interface OptionalPackage {
  readonly name: string;
  /** What does not work without it. */
  readonly purpose: string;
}

const inOrderOfTable = (sources: ConnectorConfig['sources']): ConnectorConfig['sources'] =>
  Object.keys(adapterTable).flatMap((kind) => sources.filter((one) => one.storageAdapter === kind));

/** The packages without which a part of the configuration cannot work. */
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

/** The file that a package is loaded from; undefined when it is not installed. */
export const entryOf = (name: string): string | undefined => {
  try {
    return fileURLToPath(import.meta.resolve(name));
  } catch {
    return undefined;
  }
};

/** Which of the packages are not installed, one sentence each with the command that installs it. */
export const missingPackages = (packages: readonly OptionalPackage[]): readonly string[] =>
  // Bundlers and test runners may leave the function out; then nothing is known.
  (typeof import.meta.resolve === 'function' ? packages : [])
    .filter(({ name }) => entryOf(name) === undefined)
    .map(
      ({ name, purpose }) =>
        `${purpose} needs the npm package "${name}", which is not installed here: npm install ${name}`,
    );
