import type { Entry, ListOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { fromSystemError } from '../../storage/system-errors.ts';
import { attempt } from './attempt.ts';
import { describeNames, readSmallFolder, statNames } from './direct-scan.ts';
import type { LocalStore } from './local-store.ts';
import { visibleNames } from './names.ts';
import { ScanThreadError } from './scan-thread.ts';
import { readNames } from './system.ts';

// Above it the thread is cheaper than callbacks of this thread.
const SMALL_FOLDER = 500;
const PAGE = 2000;

type Pages = AsyncGenerator<readonly Entry[], void, undefined>;

/** In pages by this thread: for a process that can start no other one. */
async function* listDirectly(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const seen = await attempt('list', options, () =>
    store.places.within(path, { file: 'wrong-kind' }, async ({ folder }) =>
      visibleNames(await readNames(folder.self)),
    ),
  );
  for (let start = 0; start < seen.length; start += PAGE) {
    const page = await attempt('list', options, () =>
      // Opened for each page: a listing that is not read on must not keep a handle.
      store.places.within(path, {}, ({ folder }) =>
        statNames(folder, seen.slice(start, start + PAGE), options.signal),
      ),
    );
    const entries = page.filter((entry) => entry !== undefined);
    if (entries.length > 0) yield entries;
  }
}

async function* listByThread(
  store: LocalStore,
  path: SourcePath,
  diskNames: readonly string[],
  options: ListOptions,
): Pages {
  const namesOnly = options.detail === 'names';
  const handles = store.places.confinement.holds;
  let hasBegun = false;
  try {
    const target = { root: store.root, diskNames, namesOnly, handles };
    for await (const page of store.scans.scan(target, options.signal)) {
      hasBegun = true;
      yield page;
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    if (hasBegun || !(error instanceof ScanThreadError)) throw fromSystemError(error, 'list');
    yield* listDirectly(store, path, options);
  }
}

/**
 * Entries in pages: small folders by this thread in one page, big ones by the scanning thread, so that the event loop stays free.
 * @see StorageAdapter.list
 */
export async function* listFolder(store: LocalStore, path: SourcePath, options: ListOptions): Pages {
  const found = await attempt('list', options, () =>
    store.places.within(path, { file: 'wrong-kind' }, async ({ folder, diskNames }) => {
      const names = await readSmallFolder(folder, SMALL_FOLDER);
      if (names === undefined) return { diskNames, entries: undefined };
      const entries = await describeNames(folder, names, options.detail === 'names', options.signal);
      return { diskNames, entries };
    }),
  );
  if (found.entries === undefined) yield* listByThread(store, path, found.diskNames, options);
  else if (found.entries.length > 0) yield found.entries;
}
