import type { z } from 'zod';
import { azureOptionsSchema } from '../../src/adapters/azure/options.ts';
import { gcsOptionsSchema } from '../../src/adapters/gcs/options.ts';
import { s3OptionsSchema } from '../../src/adapters/s3/options.ts';
import { ftpOptionsSchema } from '../../src/adapters/ftp/options.ts';
import { sftpOptionsSchema } from '../../src/adapters/sftp/options.ts';
import { webdavOptionsSchema } from '../../src/adapters/webdav/options.ts';

/** The options of an adapter of this package, as the generated files show them. */
export interface AdapterOptions {
  /** As in `storageAdapter`; the options stand under the key of the same name. */
  readonly adapter: string;
  readonly schema: z.ZodObject;
}

/**
 * Adapters whose options have a schema. An adapter that gets one is added here, and nowhere else, to be
 * documented.
 */
export const adapterOptions: readonly AdapterOptions[] = [
  { adapter: 's3', schema: s3OptionsSchema },
  { adapter: 'azure', schema: azureOptionsSchema },
  { adapter: 'gcs', schema: gcsOptionsSchema },
  { adapter: 'sftp', schema: sftpOptionsSchema },
  { adapter: 'ftp', schema: ftpOptionsSchema },
  { adapter: 'webdav', schema: webdavOptionsSchema },
];
