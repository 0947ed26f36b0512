import { Readable } from 'node:stream';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import { passBody } from '../core/body.ts';
import type { OperationOptions, ReadOptions, ReadResult, Stat } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { readAhead } from './content.ts';
import { errorOf } from './errors.ts';
import type { Session } from './session.ts';

/** What a read needs of its store. */
interface Store {
  takeForReading(options: OperationOptions): Promise<{
    readonly session: Session;
    readonly release: () => void;
  }>;
  stat(session: Session, path: SourcePath): Promise<Stat>;
  learnCase(session: Session, path: SourcePath, options: OperationOptions): Promise<void>;
}

const openKnown = async (
  store: Store,
  session: Session,
  path: SourcePath,
  options: ReadOptions,
): Promise<{ readonly handle: Buffer; readonly stat: Stat }> => {
  const known = await store.stat(session, path);
  if (known.kind === 'folder') throw new WrongKindError();
  // The protocol has no versions.
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

/**
 * Opens a file. Its reader holds a file of the server open, and its part of a connection, until the stream
 * closes.
 */
export const openFile = async (store: Store, path: SourcePath, options: ReadOptions): Promise<ReadResult> => {
  const { session, release } = await store.takeForReading(options);
  try {
    const { handle, stat } = await openKnown(store, session, path, options);
    const { start, end } = options.range ?? { start: 0, end: (stat.size ?? 0) - 1 };
    const body = Readable.from(readAhead(session, { handle, path }, start, end + 1), { objectMode: false });
    const stream = passBody(body, {
      length: end - start + 1,
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
