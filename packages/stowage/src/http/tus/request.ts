import type { Readable } from 'node:stream';
import type { KeptRoom } from '../../operations/quotas/account.ts';
import type { Metadata, TusHeaders } from './protocol.ts';

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

/** A request of the protocol that concerns an upload. */
export interface TusRequest {
  readonly method: string;
  /** The upload that it is about; undefined for the route itself. */
  readonly id: string | undefined;
  readonly headers: TusHeaders;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** The bytes of the body; they end where it does or breaks, and its failure is the caller's. */
  readonly batches: AsyncIterable<Buffer>;
  /** Ends the body with a failure. */
  readonly stop: (reason: Error) => void;
  /** What `Location` says of a new upload. */
  readonly locationOf: (id: string) => string;
  /** Whether an upload is this client's. */
  readonly mayContinue: (upload: AnnouncedUpload) => boolean;
  /** Checks a file before its bytes come. @throws what `store` would throw, as far as that is known now */
  readonly check: (
    metadata: Metadata,
    upload: Pick<AnnouncedUpload, 'id' | 'bytes'>,
  ) => Promise<Pick<AnnouncedUpload, 'owner' | 'client' | 'destination' | 'room'>>;
  /** Stores a file that has arrived, and returns what the client is answered: JSON. */
  readonly store: (file: ArrivedFile, signal: AbortSignal) => Promise<string>;
}

/** An answer of the protocol. */
export interface TusAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}
