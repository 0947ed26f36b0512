import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { uploadNames } from '../basics/content/numbered-names.ts';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { ReadableStore, StagedFile, Stat } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** Names that are looked at before the file counts as not stored. */
const MOST_NAMES = 32;

const digestOf = async (content: Readable, signal: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
};

/**
 * The file that an earlier try may have stored, whose answer was lost: the first of the names that an upload
 * gets, up to one that is free, with the same content. Reads what has the same length. @throws errors of the
 * store
 */
export const findStoredBefore = async (
  { storage, signal }: { readonly storage: ReadableStore; readonly signal: AbortSignal },
  wanted: SourcePath,
  staged: StagedFile,
): Promise<{ readonly path: SourcePath; readonly stat: Stat } | undefined> => {
  const names = uploadNames(wanted.name);
  let digest: string | undefined;
  for (let number = 0; number < MOST_NAMES; number += 1) {
    const path = wanted.parent.child(names.at(number));
    try {
      const { stat, stream } = await storage.read(path, { signal });
      if (stat.size !== undefined && stat.size !== staged.size) {
        stream.destroy();
        continue;
      }
      const found = await digestOf(stream, signal);
      digest ??= await digestOf(staged.open(), signal);
      if (found === digest) return { path, stat };
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      if (!(error instanceof WrongKindError || error instanceof ChangedMeanwhileError)) throw error;
    }
  }
  return undefined;
};
