import { createLimiter } from '../basics/concurrency/queues.ts';
import { NotFoundError } from '../errors/errors.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { takeAll } from '../storage/trash/erase.ts';
import { listIds } from '../storage/trash/sweep.ts';
import { trashPaths } from '../storage/trash/trash-folder.ts';
import type { TrashRecord } from '../storage/trash/trashed.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, EmptyTrash, Passage } from './change.ts';
import { freeing, measured, quotaKeyOf } from './quota.ts';

/** Has the trash of a source swept where that is due: to be called with every use of it. */
export const tendTrash = (
  { services, holdSources: hold }: ChangeContext,
  open: SourceView,
  arrived = 0,
): void => {
  const policy = open.source.settings.trash;
  if (policy === undefined) return;
  const { trash: keeper, quotas } = services;
  const onErased = (): void => void quotas.forget(quotaKeyOf(open.source));
  keeper.tend(storeOf(open), policy, { hold, onErased }, arrived);
};

const AT_ONCE = 8;
/** Items that are erased together; of more, each is erased by itself. */
const MOST = 100_000;

/** Of what others were faster to take or erase. */
const unlessGone = (error: unknown): void => {
  if (!(error instanceof NotFoundError)) throw error;
};

/**
 * Takes the trash away as a whole and has it removed in the background. False where it holds anything else than these
 * items.
 */
const eraseTogether = async (
  passage: Passage,
  { open }: EmptyTrash,
  records: readonly TrashRecord[],
): Promise<boolean> => {
  const { services, holdSources, done, signal } = passage;
  const storage = storeOf(open);
  const known = new Set<string>(records.map(({ id }) => id));
  if (!(await listIds(storage, { signal })).every((id) => known.has(id))) return false;
  const all = { storage, path: trashPaths.all };
  let taken: SourcePath | undefined;
  const take = async (): Promise<void> => {
    taken = await takeAll(storage, known, { signal });
    for (const { path, bytes } of records) done.push({ path, bytes });
  };
  const measureIt = () => measured(passage, open, trashPaths.all, 'folder');
  // A request that brings an item back is done before, or finds it gone.
  const held = services.locations.hold([all], passage, () => freeing(passage, open, measureIt, take));
  await held.catch(unlessGone);
  if (taken !== undefined) await services.trash.remove(storage, taken, holdSources);
  return true;
};

const eraseEach = async (
  passage: Passage,
  { open }: EmptyTrash,
  records: Iterable<TrashRecord> | AsyncIterable<TrashRecord>,
): Promise<void> => {
  const limiter = createLimiter(AT_ONCE);
  try {
    for await (const record of records) {
      const part = { type: 'erase', open, path: record.path, record, isPart: true } as const;
      await limiter.add(async () => {
        await passage.carry(part).then((done) => passage.done.push(...done), unlessGone);
      });
    }
  } finally {
    await limiter.drain();
  }
};

/**
 * Erases what the trash holds of these records: in one step where the store moves folders so, and the trash holds
 * nothing else.
 */
export const emptyTrash = async (passage: Passage, change: EmptyTrash): Promise<void> => {
  const { open, records } = change;
  if (storeOf(open).capabilities.atomicFolderMove !== true) return eraseEach(passage, change, records);
  const some: TrashRecord[] = [];
  for await (const record of records) {
    some.push(record);
    if (some.length < MOST) continue;
    await eraseEach(passage, change, some.splice(0));
  }
  if (some.length > 0 && !(await eraseTogether(passage, change, some)))
    await eraseEach(passage, change, some);
};
