import { createLimiter } from '../../../basics/concurrency/queues.ts';
import { ifOnly, UnsupportedError } from '../../../errors/errors.ts';
import type { Found, Names } from '../paths/session.ts';
import { requireStored } from '../paths/write.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { PIECE, readAhead, TOGETHER, type OpenFile } from './read.ts';
import type { Session } from './session.ts';

/** Bytes that a server copies in one request: few enough to respond in time. */
const COPIED_AT_ONCE = 16 * 1024 * 1024;

/** Flushes to the server's disk, where the server supports it. */
const sync = async (session: Session, handle: Buffer, path: SourcePath): Promise<void> => {
  const flushing = session.change<unknown>('fsync', path, (sftp, done) =>
    sftp.ext_openssh_fsync(handle, done),
  );
  await flushing.catch(ifOnly(UnsupportedError));
};

const sendChunks = async (
  session: Session,
  { handle, path }: OpenFile,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> => {
  const limiter = createLimiter(TOGETHER);
  let size = 0;
  try {
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let at = 0; at < bytes.length; at += PIECE) {
        const [piece, position] = [bytes.subarray(at, at + PIECE), size];
        size += piece.length;
        await limiter.add(() =>
          session.change('write', path, (sftp, done) =>
            sftp.write(handle, piece, 0, piece.length, position, done),
          ),
        );
      }
    }
    await limiter.drain();
  } finally {
    // No request may be running when the file is closed: the server may reuse its handle.
    await limiter.drain().catch(() => undefined);
  }
  return size;
};

/**
 * Creates a new file, calls `fill` to write it, flushes it, and verifies its size on the server. After a
 * failure the caller removes leftovers.
 * @param fill returns the number of written bytes
 */
const storeNew = (
  session: Session,
  path: SourcePath,
  derived: boolean,
  fill: (file: OpenFile) => Promise<number>,
): Promise<Found> => {
  const filling = async (handle: Buffer): Promise<number> => {
    const size = await fill({ handle, path });
    if (!derived) await sync(session, handle, path);
    return size;
  };
  const storing = session.withHandle('wx', path, filling).then(async (size) => {
    // Only after the close: servers in front of an object store create the file then.
    return requireStored(await session.stored(path), size);
  });
  // An unspecific rejection may mean that the disk is full.
  return storing.catch(async (error: unknown) => {
    throw await session.fullOr(error, path.parent);
  });
};

/** Writes a new file. After a failure the caller removes leftovers. */
export const writeNew = (
  session: Session,
  path: SourcePath,
  chunks: AsyncIterable<Uint8Array>,
  derived: boolean,
): Promise<Found> => storeNew(session, path, derived, (file) => sendChunks(session, file, chunks));

const copyOnServer = async (session: Session, source: OpenFile, target: OpenFile, size: number) => {
  for (let at = 0; at < size; at += COPIED_AT_ONCE) {
    const length = Math.min(COPIED_AT_ONCE, size - at);
    await session.change<void>('copy-data', source.path, (sftp, done) =>
      sftp.ext_copy_data(source.handle, at, length, target.handle, at, done),
    );
  }
};

/** Copies a file to a new one: on the server where it can, else through this process. */
export const copyToNew = (session: Session, { from, to }: Names): Promise<Found> =>
  session.withHandle('r', from, (handle) =>
    storeNew(session, to, false, async (target) => {
      const source = { handle, path: from };
      const { size } = await session.fstat(handle, from);
      const send = (end: number): Promise<number> =>
        sendChunks(session, target, readAhead(session, source, 0, end));
      if (size === undefined) return send(Number.POSITIVE_INFINITY);
      try {
        await copyOnServer(session, source, target, size);
      } catch (error) {
        if (!(error instanceof UnsupportedError)) throw error;
        await send(size);
      }
      return size;
    }),
  );
