import { createLimiter } from '../../../basics/concurrency/limiter.ts';
import { NotFoundError } from '../../../errors/errors.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Leftover } from '../core/leftovers.ts';
import { isEntryName, type PathSession } from './session.ts';

/** Entries of one folder that are removed side by side. */
const TOGETHER = 16;

/** Others may remove the same. */
export const unlessGone = (removing: Promise<void>): Promise<void> =>
  removing.catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
  });

/**
 * Removes a folder by its path on the server, with all it holds: links themselves, never what they lead to.
 * Each folder is looked at before it is entered, because some servers list a link as what it leads to.
 * Memory: the names in one folder and those above it.
 */
export const removeTree = async (session: PathSession, path: SourcePath, whole: string): Promise<void> => {
  if ((await session.kindAt(path, whole)) !== 'folder') return session.unlink(path, whole);
  const [folders, others]: [string[], string[]] = [[], []];
  for await (const page of session.entries(path, whole))
    for (const { written, found } of page)
      if (isEntryName(written)) (found.kind === 'folder' ? folders : others).push(`${whole}/${written}`);
  const limiter = createLimiter(TOGETHER);
  try {
    for (const below of others) await limiter.add(() => unlessGone(session.unlink(path, below)));
  } finally {
    await limiter.drain();
  }
  for (const below of folders) await unlessGone(removeTree(session, path, below));
  await session.rmdir(path, whole);
};

/** Removes something temporary; whether it is gone. Where a link stands in its way, nothing is done. */
export const removeTemporary = async (session: PathSession, { path, kind }: Leftover): Promise<boolean> => {
  const found = await session.look(path);
  if (found === undefined) return true;
  if (kind === 'file' || found.kind !== 'folder') await session.unlink(path);
  else await removeTree(session, path, session.pathOf(path));
  return true;
};
