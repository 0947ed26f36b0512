import { Readable } from 'node:stream';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import { passBody } from '../core/body.ts';
import type { ReadOptions, ReadResult, Stat } from '../../../storage/adapter.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import type { PathStore } from '../paths/store.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { errorOf } from './errors.ts';
import type { Session } from './session.ts';

/** Bytes of one request: a size that every server supports. */
export const PIECE = 32 * 1024;
/** Concurrent requests of one transfer. */
export const TOGETHER = 16;

export interface OpenFile {
  readonly handle: Buffer;
  readonly path: SourcePath;
}

const readPiece = async (session: Session, { handle, path }: OpenFile, start: number, length: number) => {
  const buffer = Buffer.allocUnsafe(length);
  let seen = 0;
  // A server may send less than requested.
  while (seen < length) {
    const from = seen;
    const count = await session.change<number>('read', path, (sftp, done) =>
      sftp.read(handle, buffer, from, length - from, start + from, done),
    );
    if (count === 0) break;
    seen += count;
  }
  return buffer.subarray(0, seen);
};

/** The bytes in [start, end), reading ahead by half a megabyte. Ends early at the end of the file. */
export async function* readAhead(
  session: Session,
  file: OpenFile,
  start: number,
  end: number,
): AsyncGenerator<Buffer, void, undefined> {
  const pieces: Promise<Buffer>[] = [];
  let next = start;
  const ask = (): void => {
    const length = Math.min(PIECE, end - next);
    if (length <= 0) return;
    const piece = readPiece(session, file, next, length);
    // A consumer that stops early does not wait for the rest.
    piece.catch(() => undefined);
    pieces.push(piece);
    next += length;
  };
  for (let index = 0; index < TOGETHER; index += 1) ask();
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const wanted = Math.min(PIECE, end - start);
    const bytes = await orAborted(piece, session.signal);
    start += bytes.length;
    if (bytes.length > 0) yield bytes;
    if (bytes.length < wanted) return;
    ask();
  }
}

const openKnown = async (
  store: PathStore<Session>,
  session: Session,
  path: SourcePath,
  options: ReadOptions,
): Promise<{ readonly handle: Buffer; readonly stat: Stat }> => {
  const known = await store.stat(session, path);
  if (known.kind === 'folder') throw new WrongKindError();
  // The protocol has no ETags.
  if (options.ifMatch !== undefined) throw new ChangedMeanwhileError();
  await store.learnCase(session, path, options);
  const handle = await session.open('r', path);
  try {
    const stat = await session.fstat(handle, path);
    if (stat.kind !== 'file') throw new NotFoundError({ detail: 'no file any more' });
    return { handle, stat: { ...stat, kind: 'file' } };
  } catch (error) {
    await session.close(handle).catch(() => undefined);
    throw error;
  }
};

/** A session that is held until `release` is called. */
export interface Reading {
  readonly session: Session;
  readonly release: () => void;
}

/** Opens a file. The server's file handle and a share of a connection are in use until the stream closes. */
export const openFile = async (
  store: PathStore<Session>,
  { session, release }: Reading,
  path: SourcePath,
  options: ReadOptions,
): Promise<ReadResult> => {
  try {
    const { handle, stat } = await openKnown(store, session, path, options);
    // A file of unknown size is read to its end.
    const { start, end } = options.range ?? { start: 0, end: (stat.size ?? Number.POSITIVE_INFINITY) - 1 };
    const body = Readable.from(readAhead(session, { handle, path }, start, end + 1), { objectMode: false });
    const stream = passBody(body, {
      length: end === Number.POSITIVE_INFINITY ? undefined : end - start + 1,
      signal: options.signal,
      failure: (error) => errorOf(`read /${path.toString()}`, error),
    });
    // Also when reading has not begun.
    stream.once('close', () => {
      body.destroy();
      void session
        .close(handle)
        .catch(() => undefined)
        .finally(release);
    });
    return { stat, stream };
  } catch (error) {
    release();
    throw error;
  }
};
