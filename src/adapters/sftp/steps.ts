import { createLimiter } from '../../concurrency/limiter.ts';
import { NotFoundError } from '../../errors/errors.ts';
import type { Leftover } from '../../remote-store/leftovers.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ListedEntry, Session } from './session.ts';

/** Entries of one folder that are removed side by side. */
const TOGETHER = 16;

/** From one name to another. */
export interface Names {
  readonly from: SourcePath;
  readonly to: SourcePath;
}

/** Removes a file, or a link itself. */
export const unlink = (session: Session, path: SourcePath): Promise<void> =>
  session.change('remove', path, (sftp, answered, whole) => sftp.unlink(whole, answered));

/** Removes a folder that holds nothing: the server decides. */
export const rmdir = (session: Session, path: SourcePath): Promise<void> =>
  session.change('rmdir', path, (sftp, answered, whole) => sftp.rmdir(whole, answered));

/** As the protocol has it: refused when anything has the target's name. */
export const rename = (session: Session, { from, to }: Names): Promise<void> =>
  session.change('rename', from, (sftp, answered, whole) => sftp.rename(whole, session.pathOf(to), answered));

/** All entries of a folder, as the server has them. */
export async function* entriesOf(
  session: Session,
  folder: SourcePath,
  whole?: string,
): AsyncGenerator<readonly ListedEntry[], void, undefined> {
  const handle = await session.open('opendir', folder, whole);
  try {
    for (;;) {
      const entries = await session.readdir(handle, folder);
      if (entries === undefined) return;
      yield entries;
    }
  } finally {
    await session.close(handle).catch(() => undefined);
  }
}

/** Whether a listed name stands for one entry of its folder. No server should send another. */
const isEntryName = (name: string): boolean => !/[/\0]/u.test(name) && name !== '' && !/^\.\.?$/u.test(name);

/** Others may remove the same. */
export const unlessGone = (removing: Promise<void>): Promise<void> =>
  removing.catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
  });

/**
 * Removes a folder by its path on the server, with all it holds: links themselves, never what they lead to.
 */
export const removeTree = async (session: Session, path: SourcePath, whole: string): Promise<void> => {
  const folders: string[] = [];
  const limiter = createLimiter(TOGETHER);
  try {
    for await (const page of entriesOf(session, path, whole)) {
      for (const { written, found } of page) {
        const below = `${whole}/${written}`;
        if (!isEntryName(written)) continue;
        if (found.kind === 'folder') folders.push(below);
        else
          await limiter.add(() =>
            unlessGone(session.change('remove', path, (sftp, answered) => sftp.unlink(below, answered))),
          );
      }
    }
  } finally {
    await limiter.drain();
  }
  for (const below of folders) await unlessGone(removeTree(session, path, below));
  await session.change('rmdir', path, (sftp, answered) => sftp.rmdir(whole, answered));
};

/** Removes something temporary; whether it is gone. Where a link stands in its way, nothing is done. */
export const removeTemporary = async (session: Session, { path, kind }: Leftover): Promise<boolean> => {
  const found = await session.look(path);
  if (found === undefined) return true;
  if (kind === 'file') await unlink(session, path);
  else await removeTree(session, path, session.pathOf(path));
  return true;
};
