import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPlainObject } from '../config/plain-values.ts';
import type { ConnectorConfig } from '../config/types.ts';

/** A package that only some need. */
export interface OptionalPackage {
  readonly name: string;
  /** What does not work without it. */
  readonly purpose: string;
}

/** What any service may need some day: actions of the protocol, and photos of phones. */
export const partPackages: readonly OptionalPackage[] = [
  { name: 'puppeteer-core', purpose: 'PDF files' },
  { name: 'docx', purpose: 'DOCX files' },
  { name: 'parse5', purpose: 'DOCX files' },
  { name: 'heic-decode', purpose: 'HEIC pictures with uploadImages' },
];

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

const entryOf = (name: string): string | undefined => {
  try {
    return fileURLToPath(import.meta.resolve(name));
  } catch {
    return undefined;
  }
};

const versionIn = async (file: string, name: string): Promise<string | undefined> => {
  try {
    const manifest: unknown = JSON.parse(await readFile(file, 'utf8'));
    const version = isPlainObject(manifest) && manifest['name'] === name ? manifest['version'] : undefined;
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
};

/** The version of a package as this service would load it; undefined when it is not installed. */
export const installedVersion = async (name: string): Promise<string | undefined> => {
  const entry = entryOf(name);
  if (entry === undefined) return undefined;
  // Not every package exports its manifest.
  for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
    const version = await versionIn(join(folder, 'package.json'), name);
    if (version !== undefined) return version;
  }
  return 'unknown';
};

/** Which of the packages are not installed, one sentence each with the command that installs it. */
export const missingPackages = (packages: readonly OptionalPackage[]): readonly string[] =>
  packages
    .filter(({ name }) => entryOf(name) === undefined)
    .map(
      ({ name, purpose }) =>
        `${purpose} needs the npm package "${name}", which is not installed here: npm install ${name}`,
    );

/**
 * The versions of optional packages that this one works with, as its own manifest has them. That lies beside
 * `dist`, where the bundles are.
 */
export const neededVersions = async (): Promise<Readonly<Record<string, string>>> => {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly peerDependencies: Record<string, string> }).peerDependencies;
};
