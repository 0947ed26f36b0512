import type { Entry, ListOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { fromSystemError } from '../../adapter-support/system-errors.ts';
import { attempt } from './attempt.ts';
import { describeNames, readSmallFolder, type NamedKind, type Shown } from './direct-scan.ts';
import type { LocalStore } from './local-store.ts';
import { ScanThreadMissing } from './scan-thread.ts';

// Above it the thread is cheaper than callbacks of this thread.
const SMALL_FOLDER = 500;
const PAGE = 2000;

type Pages = AsyncGenerator<readonly Entry[], void, undefined>;

/** In pages by this thread, for a process that cannot start another one. Holds the names of the whole folder. */
async function* listDirectly(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, ({ folder }) => readSmallFolder(folder, Infinity)),
  );
  const { entries: names, omitted }: Shown<NamedKind> = found ?? { entries: [], omitted: 0 };
  let more = 0;
  for (let start = 0; start < names.length; start += PAGE) {
    const page = await attempt('list', options, () =>
      // Opened for each page: a listing that is not read on must not keep a handle.
      store.walker.within(path, {}, ({ folder }) =>
        describeNames(folder, names.slice(start, start + PAGE), options.detail === 'names', options.signal),
      ),
    );
    more += page.omitted;
    if (page.entries.length > 0) yield page.entries;
  }
  if (omitted + more > 0) options.onOmitted?.(omitted + more);
}

async function* listByThread(
  store: LocalStore,
  path: SourcePath,
  diskNames: readonly string[],
  options: ListOptions,
): Pages {
  const namesOnly = options.detail === 'names';
  const handles = store.walker.confinement.holds;
  const target = { root: store.root, diskNames, namesOnly, handles };
  try {
    yield* store.scans.scan(target, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof ScanThreadMissing)) throw fromSystemError(error, 'list');
    yield* listDirectly(store, path, options);
  }
}

/**
 * Entries in pages: small folders by this thread in one page, big ones by the scanning thread, so that the event loop stays
 * free.
 * @see StorageAdapter.list
 */
export async function* listFolder(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.walker.within(path, { file: 'wrong-kind' }, async ({ folder, diskNames }) => {
      const names = await readSmallFolder(folder, SMALL_FOLDER);
      if (names === undefined) return { diskNames, shown: undefined };
      const { entries, omitted } = await describeNames(
        folder,
        names.entries,
        options.detail === 'names',
        options.signal,
      );
      return { diskNames, shown: { entries, omitted: omitted + names.omitted } };
    }),
  );
  if (found.shown === undefined) return yield* listByThread(store, path, found.diskNames, options);
  if (found.shown.omitted > 0) options.onOmitted?.(found.shown.omitted);
  if (found.shown.entries.length > 0) yield found.shown.entries;
}
