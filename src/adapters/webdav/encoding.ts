import type { Readable } from 'node:stream';
import { createUnzip } from 'node:zlib';
import { CorruptError } from '../../errors/errors.ts';
import type { DavAnswer } from './client.ts';

const ZIPPED = /^(?:x-)?(?:gzip|deflate)$/iu;

/** The body of an answer as it was before some proxy packed it, asked or not. Whoever destroys it destroys the answer's body as well. */
export const decodedBody = ({ headers, body }: Pick<DavAnswer, 'headers' | 'body'>): Readable => {
  if (!ZIPPED.test(headers['content-encoding']?.trim() ?? '')) return body;
  const unzip = createUnzip();
  // A pipe does not carry errors on.
  body.once('error', (error) => unzip.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) unzip.destroy(new CorruptError({ detail: 'a packed answer that was cut off' }));
  });
  return body.pipe(unzip);
};
