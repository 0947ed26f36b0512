import { connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseClamdAddress } from '../../config/values.ts';
import { InspectionUnavailableError } from '../../errors/errors.ts';

interface ClamdOptions {
  /** `tcp://host:port` or `unix:path`. */
  readonly address: string;
  readonly signal: AbortSignal;
}

/** clamd responds with one line that contains the name of a signature. */
const MOST_RESPONSE_BYTES = 4096;
const MOST_NAME_LENGTH = 200;
const UNPRINTABLE = /[^\x20-\x7e]/gu;
const INSTREAM = Buffer.from('zINSTREAM\0');
const MOST_LENGTH = 2 ** 32 - 1;

const announced = (bytes: number): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Math.min(bytes, MOST_LENGTH));
  return length;
};

/** The response of clamd, which ends with a NUL or with the connection. */
const responseOf = async (socket: Socket): Promise<string> => {
  let response = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    response = Buffer.concat([response, chunk]);
    const end = response.indexOf(0);
    if (end >= 0) return response.toString('latin1', 0, end).trim();
    if (response.length > MOST_RESPONSE_BYTES) throw new Error('clamd writes more than a response');
  }
  return response.toString('latin1').trim();
};

/** The data sent to clamd. `progress` records whether all content was sent, and an error of the content. */
async function* framed(content: Readable, progress: { isWhole: boolean; failure?: unknown }) {
  yield INSTREAM;
  try {
    for await (const chunk of content as AsyncIterable<Uint8Array>) {
      // A length of zero ends the stream.
      if (chunk.byteLength === 0) continue;
      yield announced(chunk.byteLength);
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    }
  } catch (error) {
    progress.failure = error;
    throw error;
  }
  progress.isWhole = true;
  yield announced(0);
}

/** Uses a new connection to clamd, which is closed after `talk` or on abort. */
const withClamd = async <Result>(
  { address, signal }: ClamdOptions,
  talk: (socket: Socket) => Promise<Result>,
): Promise<Result> => {
  signal.throwIfAborted();
  const target = parseClamdAddress(address);
  if (target === undefined) throw new Error('the address of clamd is not valid');
  const socket = connect(target);
  const end = (): void => void socket.destroy(signal.reason as Error);
  // Reading and writing report the same failure.
  socket.on('error', () => undefined);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await talk(socket);
  } finally {
    signal.removeEventListener('abort', end);
    socket.destroy();
  }
};

/**
 * Scans content with clamd; the content is streamed and always destroyed. Returns the name of the signature
 * found; undefined for none.
 * @throws the content's own error; InspectionUnavailableError when clamd cannot be reached, reports an error,
 * sends an invalid response, or does not respond before the signal aborts
 */
export const scanWithClamd = async (
  content: Readable,
  options: ClamdOptions,
): Promise<string | undefined> => {
  const progress: { isWhole: boolean; failure?: unknown } = { isWhole: false };
  try {
    const response = await withClamd(options, async (socket) => {
      const sending = pipeline(framed(content, progress), socket, { end: false });
      // clamd may respond and close the connection before it has read everything.
      sending.catch(() => undefined);
      return responseOf(socket);
    });
    const found = /^stream: (.+) FOUND$/u.exec(response)?.[1];
    if (found !== undefined) return found.replaceAll(UNPRINTABLE, '?').slice(0, MOST_NAME_LENGTH);
    if (response === 'stream: OK' && progress.isWhole) return undefined;
    throw new Error(`clamd responds: ${response.replaceAll(UNPRINTABLE, '?').slice(0, MOST_NAME_LENGTH)}`);
  } catch (error) {
    if (progress.failure !== undefined) throw progress.failure as Error;
    throw new InspectionUnavailableError({ detail: 'clamd cannot be asked', cause: error });
  } finally {
    content.destroy();
  }
};

/**
 * Whether clamd rejects content of this length, because of its `StreamMaxLength`; false when it does not
 * respond. It checks a length as soon as it is announced. When content is sent, its response is often lost:
 * it closes the connection while content is still arriving.
 */
export const exceedsStreamLimit = (bytes: number, options: ClamdOptions): Promise<boolean> =>
  withClamd(options, async (socket) => {
    socket.end(Buffer.concat([INSTREAM, announced(bytes)]));
    return (await responseOf(socket)).includes('size limit exceeded');
  }).catch(() => false);

/** Checks that clamd responds. @throws when it does not */
export const pingClamd = (options: ClamdOptions): Promise<void> =>
  withClamd(options, async (socket) => {
    socket.write('zPING\0');
    const response = await responseOf(socket);
    if (response !== 'PONG') throw new Error('what listens there is not clamd');
  });
