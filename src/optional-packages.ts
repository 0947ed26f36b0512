import { fileURLToPath } from 'node:url';
import { isPlainObject } from './config/plain-values.ts';
import type { ConnectorConfig } from './config/types.ts';

/** A package that only some need. */
export interface OptionalPackage {
  readonly name: string;
  /** What does not work without it. */
  readonly purpose: string;
}

/** Whether an azure source logs in with neither a key nor a signature. */
const usesIdentity = (options: unknown): boolean =>
  isPlainObject(options) &&
  ['connectionString', 'accountKey', 'sasToken'].every((key) => options[key] === undefined);

const isAnonymous = (options: unknown): boolean => isPlainObject(options) && options['anonymous'] === true;

const named = (name: string): string => `the source ${JSON.stringify(name)}`;

/** The packages without which a part of the configuration cannot work. */
export const packagesOf = ({ sources, settings }: ConnectorConfig): readonly OptionalPackage[] => [
  ...sources
    .filter(({ storageAdapter }) => storageAdapter === 's3')
    .flatMap(({ name, settings: { serve, delivery } }) => [
      { name: '@aws-sdk/client-s3', purpose: named(name) },
      ...(serve !== 'off' && delivery === 'redirect'
        ? [{ name: '@aws-sdk/s3-request-presigner', purpose: `redirects of ${named(name)}` }]
        : []),
    ]),
  ...sources
    .filter(({ storageAdapter }) => storageAdapter === 'sftp')
    .map(({ name }) => ({ name: 'ssh2', purpose: named(name) })),
  ...sources
    .filter(({ storageAdapter }) => storageAdapter === 'ftp')
    .map(({ name }) => ({ name: 'basic-ftp', purpose: named(name) })),
  ...sources
    .filter(({ storageAdapter }) => storageAdapter === 'azure')
    .flatMap(({ name, adapterOptions }) => [
      { name: '@azure/storage-blob', purpose: named(name) },
      ...(usesIdentity(adapterOptions)
        ? [{ name: '@azure/identity', purpose: `the login of ${named(name)}` }]
        : []),
    ]),
  ...sources
    .filter(({ storageAdapter, adapterOptions }) => storageAdapter === 'gcs' && !isAnonymous(adapterOptions))
    .map(({ name }) => ({ name: 'google-auth-library', purpose: named(name) })),
  ...(settings.auth?.jwt === undefined ? [] : [{ name: 'jose', purpose: 'auth.jwt' }]),
  ...(settings.tus === undefined ? [] : [{ name: '@tus/server', purpose: 'tus' }]),
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
