import type * as z from 'zod';
import { createNameLocks } from '../basics/concurrency/name-locks.ts';
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
  /**
   * Called once per connector, for the state that its stores share. The returned function loads the adapter's
   * code when the first source of this kind opens, to keep the start of the service fast.
   */
  opener(): (options: Options, root: string | undefined) => Promise<StorageAdapter>;
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
    const open = row.opener();
    return {
      parseOptions: row.parseOptions,
      create: async ({ options, root }) => listings.shareIn(await open(options, root)),
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
    opener: () => {
      const services = new KnownServices();
      return async (options, root) =>
        new (await import('./objects/s3/adapter.ts')).S3Adapter(options, root, services);
    },
  }),
  sftp: remote({
    optionsSchema: sftpOptionsSchema,
    parseOptions: parseSftpOptions,
    packages: () => [{ name: 'ssh2' }],
    opener: () => async (options, root) =>
      (await import('./remote/sftp/adapter.ts')).openSftpAdapter(options, root),
  }),
  ftp: remote({
    optionsSchema: ftpOptionsSchema,
    parseOptions: parseFtpOptions,
    packages: () => [{ name: 'basic-ftp' }],
    opener: () => {
      // The server does not decide which of two stores creates a name.
      const locks = createNameLocks();
      return async (options, root) =>
        (await import('./remote/ftp/adapter.ts')).openFtpAdapter(options, root, locks);
    },
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
    opener: () => async (options, root) =>
      new (await import('./objects/azure/adapter.ts')).AzureAdapter(options, root),
  }),
  gcs: remote({
    optionsSchema: gcsOptionsSchema,
    parseOptions: parseGcsOptions,
    packages: ({ anonymous }) => (anonymous ? [] : [{ name: 'google-auth-library' }]),
    opener: () => async (options, root) =>
      new (await import('./objects/gcs/adapter.ts')).GcsAdapter(options, root),
  }),
  webdav: remote({
    optionsSchema: webdavOptionsSchema,
    parseOptions: parseWebdavOptions,
    opener: () => async (options, root) =>
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

const rowOf = (name: string): AdapterRow | undefined => new Map(Object.entries(adapterTable)).get(name);

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
): readonly NeededPackage[] => rowOf(name)?.packages?.(options, isRedirected) ?? [];
