import type { Readable } from 'node:stream';
import * as errors from '../../errors/errors.ts';
import type { KeptRoom } from '../../operations/quotas/account.ts';

/** The version of the protocol. @see https://tus.io/protocols/resumable-upload */
export const TUS_VERSION = '1.0.0';

/** Headers that announce the supported extensions of the protocol. */
export const offeredHeaders: Readonly<Record<string, string>> = {
  'tus-version': TUS_VERSION,
  'tus-extension': 'creation,creation-with-upload,expiration,termination',
};

export type TusHeaders = Readonly<Record<string, string | undefined>>;

/** The pairs of `Upload-Metadata`: a key without a value has null. */
export type Metadata = ReadonlyMap<string, string | null>;

const PART_TYPE = 'application/offset+octet-stream';
/** Maximum length of `Upload-Metadata`; it is stored with the upload. */
const MAX_METADATA = 4096;
const METADATA_KEY = /^[\x21-\x2b\x2d-\x7e]{1,100}$/u;
const BASE64 = /^(?:[\d+/A-Za-z]{4})*(?:[\d+/A-Za-z]{2}==|[\d+/A-Za-z]{3}=)?$/u;

const invalid = (header: string, reason: string): errors.InvalidParametersError =>
  new errors.InvalidParametersError(`${header}: ${reason}.`);

/** @throws TusVersionError unless the client uses this version */
export const requireVersion = (headers: TusHeaders): void => {
  if (headers['tus-resumable'] !== TUS_VERSION)
    throw new errors.TusVersionError({ headers: { 'Tus-Version': TUS_VERSION } });
};

const hasPartType = (headers: TusHeaders): boolean =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === PART_TYPE;

/** A number of bytes in a header; undefined without the header. */
const readBytes = (headers: TusHeaders, name: string): number | undefined => {
  const text = headers[name.toLowerCase()];
  if (text === undefined) return undefined;
  const bytes = /^(?:0|[1-9]\d*)$/u.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(bytes)) return bytes;
  throw invalid(name, 'must be a whole number of bytes');
};

const decode = (key: string, value: string): string => {
  if (!BASE64.test(value)) throw invalid('Upload-Metadata', `the value of "${key}" must be Base64`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, 'base64'));
  } catch {
    throw invalid('Upload-Metadata', `the value of "${key}" must be text in UTF-8`);
  }
};

const readMetadata = (header: string | undefined): Metadata => {
  const values = new Map<string, string | null>();
  if (header === undefined) return values;
  if (header.length > MAX_METADATA)
    throw invalid('Upload-Metadata', `must not be longer than ${String(MAX_METADATA)} characters`);
  for (const pair of header.split(',')) {
    const [key = '', value, ...more] = pair.trim().split(/ +/u);
    if (!METADATA_KEY.test(key) || more.length > 0)
      throw invalid('Upload-Metadata', 'must be a list of keys, each with one value');
    if (values.has(key)) throw invalid('Upload-Metadata', 'every key may stand once');
    values.set(key, value === undefined ? null : decode(key, value));
  }
  return values;
};

/** `Upload-Metadata` in its original form. */
export const writeMetadata = (metadata: Readonly<Record<string, string | null>>): string =>
  Object.entries(metadata)
    .map(([key, value]) => (value === null ? key : `${key} ${Buffer.from(value).toString('base64')}`))
    .join(',');

/** Rejects headers of unsupported extensions. */
const refuseExtensions = (headers: TusHeaders): void => {
  const concat = headers['upload-concat'];
  if (concat !== undefined && concat !== 'partial' && !concat.startsWith('final;'))
    throw invalid('Upload-Concat', 'must be "partial" or "final;" and a list');
  const deferred = headers['upload-defer-length'];
  if (deferred !== undefined && deferred !== '1') throw invalid('Upload-Defer-Length', 'must be 1');
  if (concat !== undefined)
    throw new errors.UnsupportedError(
      'Concatenation is not supported: switch parallel uploads off in the client.',
    );
  if (deferred !== undefined) throw new errors.UnsupportedError('Deferred lengths are not supported.');
};

/** A POST, which creates an upload. */
export interface Creation {
  readonly bytes: number;
  readonly metadata: Metadata;
  /** Whether the body contains the first part. */
  readonly hasPart: boolean;
}

/** Reads the headers of a POST. @throws TusVersionError, InvalidParametersError, UnsupportedError */
export const readCreation = (headers: TusHeaders): Creation => {
  requireVersion(headers);
  const bytes = readBytes(headers, 'Upload-Length');
  const metadata = readMetadata(headers['upload-metadata']);
  readBytes(headers, 'Upload-Offset');
  refuseExtensions(headers);
  if (bytes === undefined) throw invalid('Upload-Length', 'is required');
  return { bytes, metadata, hasPart: hasPartType(headers) };
};

/** The offset of a PATCH. @throws InvalidParametersError, UnsupportedMediaTypeError, UnsupportedError */
export const readPartOffset = (headers: TusHeaders): number => {
  const offset = readBytes(headers, 'Upload-Offset');
  if (!hasPartType(headers))
    throw new errors.UnsupportedMediaTypeError(`Content-Type: must be ${PART_TYPE}.`);
  if (offset === undefined) throw invalid('Upload-Offset', 'is required');
  refuseExtensions(headers);
  if (readBytes(headers, 'Upload-Length') !== undefined)
    throw new errors.UnsupportedError('Deferred lengths are not supported.');
  return offset;
};

export const partTooLong = (): errors.BodyTooLargeError =>
  new errors.BodyTooLargeError('The upload is longer than was announced.');

/** The owner of an upload: no other client can see or continue it. */
export interface Owner {
  /** Tenant of the destination source. */
  readonly tenant: string | undefined;
  readonly role: string;
  readonly subject: string | undefined;
}

/** Where a complete file is to be stored, as checked at its creation. */
export interface Destination {
  readonly source: string;
  readonly path: string;
  readonly filename: string;
}

export interface AnnouncedUpload {
  /** Random, 160 bits. */
  readonly id: string;
  readonly bytes: number;
  /** In its original form, which HEAD returns. */
  readonly metadata: Readonly<Record<string, string | null>>;
  readonly owner: Owner;
  /** The client whose limits it counts against; undefined where the client is not known. */
  readonly client?: string | undefined;
  readonly destination: Destination;
  /** Room that is reserved for it in the quota of the source. */
  readonly room?: KeptRoom | undefined;
}

export interface ArrivedFile {
  readonly id: string;
  readonly destination: Destination;
  readonly bytes: number;
  /** An earlier attempt to store it ended without a known result. */
  readonly mayBeStored: boolean;
  /** Location and size of the received bytes on disk. */
  readonly file: { readonly path: string; readonly size: number };
  /** Opens the bytes from the start; the caller owns the stream. */
  readonly open: () => Readable;
}

export interface TusRequest {
  readonly method: string;
  /** The upload of the request; undefined for the route itself. */
  readonly id: string | undefined;
  readonly headers: TusHeaders;
  readonly signal: AbortSignal;
  /** The bytes of the body. Ends when the body ends or fails; a failure is thrown by `received`. */
  readonly batches: AsyncIterable<readonly Buffer[]>;
  /** Resolves when the body ends. @throws its failure */
  readonly received: Promise<void>;
  /** Fails the body. */
  readonly stop: (reason: Error) => void;
  readonly locationOf: (id: string) => string;
  /** Whether an upload belongs to this client. */
  readonly mayContinue: (upload: AnnouncedUpload) => boolean;
  /** Checks a file before its bytes arrive. @throws errors of `store`, as far as they can be foreseen */
  readonly check: (
    metadata: Metadata,
    upload: Pick<AnnouncedUpload, 'id' | 'bytes'>,
  ) => Promise<Pick<AnnouncedUpload, 'owner' | 'client' | 'destination' | 'room'>>;
  /** Stores a complete file, and returns the response body: JSON. */
  readonly store: (file: ArrivedFile, signal: AbortSignal) => Promise<string>;
}

export interface TusResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}
