import { createHash, createVerify, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** An object in the emulator. */
export interface KeptObject {
  readonly content: Buffer;
  readonly generation: string;
  readonly timeCreated: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** An error response. */
export class Failure extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * Sends the content, or the requested range. As the service does, sends a whole content that is stored as
 * gzip in chunks, and decompressed to clients that do not accept gzip.
 */
export const sendMedia = (
  { headers: { range, 'accept-encoding': accepted = '' } }: IncomingMessage,
  kept: KeptObject,
  outgoing: ServerResponse,
  more: object = {},
): void => {
  const { content, generation, timeCreated, attributes } = kept;
  const headers = {
    'x-goog-generation': generation,
    'x-goog-storage-class': String(attributes['storageClass']),
    'last-modified': new Date(timeCreated).toUTCString(),
    'content-type': String(attributes['contentType']),
    'x-goog-stored-content-length': String(content.length),
    ...more,
  };
  const [, first, last] = /^bytes=(\d+)-(\d*)$/u.exec(range ?? '') ?? [];
  if (first === undefined && attributes['contentEncoding'] === 'gzip') {
    const isPlain = !accepted.includes('gzip');
    outgoing.writeHead(200, isPlain ? headers : { ...headers, 'content-encoding': 'gzip' });
    outgoing.write('');
    return void outgoing.end(isPlain ? gunzipSync(content) : content);
  }
  if (first === undefined)
    return void outgoing.writeHead(200, { ...headers, 'content-length': content.length }).end(content);
  const start = Number(first);
  if (start >= content.length) throw new Failure(416, 'requestedRangeNotSatisfiable');
  const end = Math.min(content.length - 1, last === '' ? Number.MAX_SAFE_INTEGER : Number(last));
  const part = content.subarray(start, end + 1);
  const where = { 'content-range': `bytes ${start}-${end}/${content.length}`, 'content-length': part.length };
  outgoing.writeHead(206, { ...headers, ...where }).end(part);
};

/** Verifies a signed URL; returns the name of its object, and the response headers. */
export const checkSignedUrl = (
  incoming: IncomingMessage,
  url: URL,
  key: KeyObject,
): { readonly bucket: string | undefined; readonly name: string; readonly headers: object } => {
  const given = (name: string): string => url.searchParams.get(`X-Goog-${name}`) ?? '';
  const [path = '', search = ''] = (incoming.url ?? '').split('?');
  const query = search
    .split('&')
    .filter((part) => !part.startsWith('X-Goog-Signature='))
    .sort()
    .join('&');
  const canonical = [
    incoming.method,
    path,
    query,
    `host:${incoming.headers.host ?? ''}`,
    '',
    'host',
    'UNSIGNED-PAYLOAD',
  ];
  const digest = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const scope = given('Credential').split('/').slice(1).join('/');
  const text = ['GOOG4-RSA-SHA256', given('Date'), scope, digest].join('\n');
  const isGood = createVerify('RSA-SHA256').update(text).verify(key, given('Signature'), 'hex');
  const made = Date.parse(
    given('Date').replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/u, '$1-$2-$3:$4:$5'),
  );
  if (!isGood || made + Number(given('Expires')) * 1000 < Date.now()) throw new Failure(403, 'forbidden');
  const [, bucket, ...parts] = path.split('/').map(decodeURIComponent);
  return {
    bucket,
    name: parts.join('/'),
    headers: {
      'content-type': url.searchParams.get('response-content-type') ?? '',
      'content-disposition': url.searchParams.get('response-content-disposition') ?? '',
    },
  };
};
