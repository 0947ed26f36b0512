import type { Readable } from 'node:stream';
import { NotFoundError } from '../errors/errors.ts';
import type {
  OperationOptions,
  ReadableStore,
  StagedFile,
  StageOptions,
  Stat,
  StorageAdapter,
  WriteOptions,
} from './adapter.ts';
import type { SourcePath } from './source-path.ts';
import { spool, type SpooledFile } from './spool.ts';

/** How staged content is given its name. */
export type PlaceOptions = Omit<WriteOptions, 'size'>;

/**
 * Takes content into a private temporary file of this machine. `write` stores it under its name and may open
 * it as often as it likes. Destroys `content` on every way out.
 * @throws the content's own error, the signal's reason, or an error of the file system
 */
export const stageLocally = async (
  content: Readable,
  options: OperationOptions,
  write: (target: SourcePath, file: SpooledFile, options: PlaceOptions) => Promise<Stat>,
): Promise<StagedFile> => {
  const file = await spool(content, options);
  let ended = false;
  const end = async (): Promise<void> => {
    ended = true;
    await file.remove();
  };
  return {
    size: file.size,
    open: () => file.open(),
    commit: async (target, commitOptions = {}) => {
      if (ended) throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
      const stat = await write(target, file, commitOptions);
      await end();
      return stat;
    },
    discard: end,
  };
};

/**
 * Takes content in before its name is known. The store does it where it can; else the content is spooled to a
 * private temporary file of this machine and `commit` sends it to the store with its size. Destroys `content`
 * on every way out.
 * @throws the content's own error, the signal's reason, or an error of the store
 */
export const stageContent = async (
  adapter: StorageAdapter,
  content: Readable,
  options: StageOptions = {},
): Promise<StagedFile> =>
  adapter.stage === undefined
    ? stageLocally(content, options, (target, file, more) =>
        adapter.write(target, file.open(), { ...more, size: file.size }),
      )
    : adapter.stage(content, options);

/**
 * Gives staged content its name in `adapter`: by a commit where it was staged in that very store, else by
 * streaming it across with its size and dropping the staged bytes. After an error (AlreadyExistsError above
 * all) the content is still there for another try.
 * @param stagedIn the store that `stageContent` was called with, as far as known
 */
export const placeStaged = async (
  staged: StagedFile,
  stagedIn: ReadableStore | undefined,
  adapter: StorageAdapter,
  path: SourcePath,
  options: PlaceOptions = {},
): Promise<Stat> => {
  if (stagedIn === adapter) return staged.commit(path, options);
  const stat = await adapter.write(path, staged.open(), { ...options, size: staged.size });
  await staged.discard();
  return stat;
};
