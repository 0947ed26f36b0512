import type { Readable } from 'node:stream';
import type { KeptRoom } from '../../operations/quotas/account.ts';

/** The owner of an upload: no other client sees or continues it. */
export interface Owner {
  /** Of the source that it goes to. */
  readonly tenant: string | undefined;
  readonly role: string;
  readonly subject: string | undefined;
}

/** Where a file is to be stored when it has arrived, as its creation was checked. */
export interface Destination {
  /** Name of the source. */
  readonly source: string;
  /** Folder inside of it. */
  readonly path: string;
  readonly filename: string;
}

/** What is known of an upload from its beginning. */
export interface AnnouncedUpload {
  /** Random, 160 bits. */
  readonly id: string;
  readonly bytes: number;
  /** As the client has sent it: HEAD answers it. */
  readonly metadata: Readonly<Record<string, string | null>>;
  readonly owner: Owner;
  /** The client whose bounds it counts against; undefined where the client is not known. */
  readonly client?: string | undefined;
  readonly destination: Destination;
  /** What the quota of the source keeps for it. */
  readonly room?: KeptRoom | undefined;
}

/** A file that has arrived whole. */
export interface ArrivedFile {
  readonly id: string;
  readonly destination: Destination;
  readonly bytes: number;
  /** An earlier try to store it has ended without an answer. */
  readonly mayBeStored: boolean;
  /** The bytes from the start; the caller owns the stream. */
  readonly open: () => Readable;
}
