import type * as z from 'zod';
import { createNameLocks, type NameLocks } from '../basics/concurrency/name-locks.ts';
import { SharedListings } from './remote/core/shared-listings.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { BuiltInName, StorageFactories, StorageFactory } from '../storage/registry.ts';
import { declaredCapabilities } from './capabilities.ts';
import { azureOptionsSchema, parseAzureOptions } from './objects/azure/options.ts';
import { ftpOptionsSchema, parseFtpOptions } from './remote/ftp/options.ts';
import { gcsOptionsSchema, parseGcsOptions } from './objects/gcs/options.ts';
import { createLocalFactory } from './local/factory.ts';
import { memoryFactory } from './memory/adapter.ts';
import { KnownServices } from './objects/s3/known-services.ts';
import { parseS3Options, s3OptionsSchema } from './objects/s3/options.ts';
import { parseSftpOptions, sftpOptionsSchema } from './remote/sftp/options.ts';
import { parseWebdavOptions, webdavOptionsSchema } from './remote/webdav/options.ts';

/** An npm package that sources of a kind need. */
interface NeededPackage {
  readonly name: string;
  /** The feature that needs it; absent: the whole source. */
  readonly part?: 'redirects' | 'the login';
}

/** Definition of a remote store. `Options` is the result of `parseOptions`. */
interface RemoteRow<Options> {
  readonly optionsSchema: z.ZodObject;
  readonly parseOptions: NonNullable<StorageFactory<Options>['parseOptions']>;
  /** `isRedirected`: downloads are redirected to the store. */
  packages?(options: Options, isRedirected: boolean): readonly NeededPackage[];
  /** Loads the adapter's code when the first source of this kind opens, to keep the start fast. */
  open(options: Options, root: string | undefined, shared: Shared): Promise<StorageAdapter>;
}

/** State that the stores of one kind in one connector share. */
interface Shared {
  readonly services: KnownServices;
  readonly locks: NameLocks;
}

/** Definition of one kind of store. */
interface AdapterRow {
  /** The configured options, under the name of the adapter; with a schema they are required. */
  readonly optionsSchema?: z.ZodObject;
  /** The packages that a source needs, by its parsed options. */
  packages?(options: unknown, isRedirected: boolean): readonly NeededPackage[];
  /** Creates a factory whose stores share the state of one connector. One factory per connector. */
  readonly createFactory: (listings?: SharedListings) => StorageFactory;
}

const remote = <Options>(row: RemoteRow<Options>): AdapterRow => ({
  ...row,
  createFactory: (listings = new SharedListings()): StorageFactory<Options> => {
    const shared = { services: new KnownServices(), locks: createNameLocks() };
    return {
      parseOptions: row.parseOptions,
      create: async ({ options, root }) => listings.shareIn(await row.open(options, root, shared)),
    };
  },
});

/**
 * Every adapter of this package by its name in `storageAdapter`, in the order of the documentation. To add
 * one: a folder, its name in storage/registry.ts, a row here and one in capabilities.ts, and the type of its
 * options in config/types.ts; the compiler requires the rows.
 */
export const adapterTable: Readonly<Record<BuiltInName, AdapterRow>> = {
  local: { createFactory: createLocalFactory },
  memory: { createFactory: () => memoryFactory },
  s3: remote({
    optionsSchema: s3OptionsSchema,
    parseOptions: parseS3Options,
    packages: (_options, isRedirected) => [
      { name: '@aws-sdk/client-s3' },
      ...(isRedirected ? [{ name: '@aws-sdk/s3-request-presigner', part: 'redirects' as const }] : []),
    ],
    open: async (options, root, { services }) =>
      new (await import('./objects/s3/adapter.ts')).S3Adapter(options, root, services),
  }),
  sftp: remote({
    optionsSchema: sftpOptionsSchema,
    parseOptions: parseSftpOptions,
    packages: () => [{ name: 'ssh2' }],
    open: async (options, root) => (await import('./remote/sftp/adapter.ts')).openSftpAdapter(options, root),
  }),
  ftp: remote({
    optionsSchema: ftpOptionsSchema,
    parseOptions: parseFtpOptions,
    packages: () => [{ name: 'basic-ftp' }],
    // The server does not decide which of two stores creates a name: their locks do.
    open: async (options, root, { locks }) =>
      (await import('./remote/ftp/adapter.ts')).openFtpAdapter(options, root, locks),
  }),
  azure: remote({
    optionsSchema: azureOptionsSchema,
    parseOptions: parseAzureOptions,
    packages: ({ connectionString, accountKey, sasToken }) => [
      { name: '@azure/storage-blob' },
      ...((connectionString ?? accountKey ?? sasToken) === undefined
        ? [{ name: '@azure/identity', part: 'the login' as const }]
        : []),
    ],
    open: async (options, root) =>
      new (await import('./objects/azure/adapter.ts')).AzureAdapter(options, root),
  }),
  gcs: remote({
    optionsSchema: gcsOptionsSchema,
    parseOptions: parseGcsOptions,
    packages: ({ anonymous }) => (anonymous ? [] : [{ name: 'google-auth-library' }]),
    open: async (options, root) => new (await import('./objects/gcs/adapter.ts')).GcsAdapter(options, root),
  }),
  webdav: remote({
    optionsSchema: webdavOptionsSchema,
    parseOptions: parseWebdavOptions,
    open: async (options, root) =>
      (await import('./remote/webdav/adapter.ts')).openWebdavAdapter(options, root),
  }),
};

/** The schemas of the options, by the names of the adapters that have some. */
export const optionsSchemas: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(adapterTable).flatMap(([name, { optionsSchema }]) =>
    optionsSchema === undefined ? [] : [[name, optionsSchema]],
  ),
);

/** The factories of one connector, whose stores share their running listings. */
export const createBuiltInFactories = (): StorageFactories => {
  const listings = new SharedListings();
  return new Map(Object.entries(adapterTable).map(([name, row]) => [name, row.createFactory(listings)]));
};

/** Whether files may have temporary URLs of the store; undefined for adapters of other packages. */
export const givesUrls = (name: string): boolean | undefined => {
  const declared = new Map(Object.entries(declaredCapabilities)).get(name);
  return declared && declared.temporaryUrls !== false;
};

/** The packages that a source needs; none for adapters of other packages. Options are parsed. */
export const packagesOfAdapter = (
  name: string,
  options: unknown,
  isRedirected: boolean,
): readonly NeededPackage[] =>
  new Map(Object.entries(adapterTable)).get(name)?.packages?.(options, isRedirected) ?? [];
