import type { Readable } from 'node:stream';
import type * as tus from '@tus/server';
import { importOptional } from '../../errors/optional-package.ts';
import type { AnnouncedUpload } from './upload.ts';
import { unknownUpload, type UnfinishedUploads } from './unfinished-uploads.ts';

/** The package that speaks the protocol. */
export type TusLibrary = typeof tus;

/** Loads the package at its first use. @throws UnsupportedError when it is not installed */
export const loadTusLibrary = (): Promise<TusLibrary> =>
  importOptional('The setting tus', '@tus/server', () => import('@tus/server'));

/** What is offered beyond the core of the protocol. */
export const EXTENSIONS = ['creation', 'creation-with-upload', 'expiration', 'termination'] as const;

/** What the store of one request has to know of it. */
export interface StoreOptions {
  readonly uploads: UnfinishedUploads;
  /** What was announced, when the request begins an upload. */
  readonly announced: () => AnnouncedUpload | undefined;
  /** Removes an upload, unless it is being stored. */
  readonly remove: (id: string) => Promise<void>;
}

/** The unfinished uploads as the library asks for them. */
export const createDataStore = (
  { DataStore, Upload }: TusLibrary,
  { uploads, announced, remove }: StoreOptions,
): InstanceType<TusLibrary['DataStore']> => {
  type LibraryUpload = InstanceType<typeof Upload>;
  class WaitingStore extends DataStore {
    override extensions = [...EXTENSIONS];

    override async create(upload: LibraryUpload): Promise<LibraryUpload> {
      const known = announced();
      if (known === undefined) return upload;
      await uploads.create(known);
      // The library answers what this object says.
      return Object.assign(upload, { creation_date: (await this.getUpload(known.id)).creation_date });
    }

    override async getUpload(id: string): Promise<LibraryUpload> {
      const upload = await uploads.find(id);
      if (upload === undefined) throw unknownUpload();
      const { bytes, metadata } = upload.announced;
      const offset = await uploads.offset(upload);
      // The library counts the lifetime from here.
      const creation_date = new Date(uploads.expiresAt(upload) - uploads.lifetime).toISOString();
      return new Upload({ id, size: bytes, offset, metadata: { ...metadata }, creation_date });
    }

    override async write(content: Readable, id: string, offset: number): Promise<number> {
      const upload = await uploads.find(id);
      if (upload === undefined) throw unknownUpload();
      if (upload.answer === undefined) return uploads.append(upload, content, offset);
      content.resume();
      return offset;
    }

    override remove(id: string): Promise<void> {
      return remove(id);
    }

    override getExpiration(): number {
      return uploads.lifetime;
    }
  }
  return new WaitingStore();
};
