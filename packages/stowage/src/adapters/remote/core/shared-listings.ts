import { orAborted } from '../../../basics/concurrency/abort.ts';
import type { Entry, ListOptions, StagedFile, StorageAdapter } from '../../../storage/adapter.ts';
import { overlaps, type StoreLocation } from '../../../storage/location.ts';
import { SourcePath } from '../../../storage/source-path.ts';

/** Maximum entries kept for other readers while listings run, of all listings together: some 20 MB. */
const MOST_KEPT = 100_000;

/** Outcome of a listing. `left`: its reader stopped; `large`: too many entries to keep. */
type Outcome = { readonly pages: readonly (readonly Entry[])[]; readonly omitted: number } | 'left' | 'large';

interface Running extends StoreLocation {
  readonly outcome: Promise<Outcome>;
}

type Method = (...given: readonly unknown[]) => Promise<unknown>;

const CHANGES: ReadonlySet<PropertyKey> = new Set<keyof StorageAdapter>([
  'write',
  'makeFolder',
  'removeFile',
  'removeEmptyFolder',
  'removeFolder',
  'copyFile',
  'moveFile',
  'copyFolder',
  'moveFolder',
]);

/**
 * Lets readers that allow it (`mayJoin`) share a running listing of the same folder and store. A listing is
 * shared until an operation of any of these stores that may have changed the folder has ended, so that every
 * later listing includes this process's changes. Entries are kept only while the listing runs.
 */
export class SharedListings {
  readonly #running = new Set<Running>();
  #kept = 0;

  /** Wraps a store so that its listings are shared. */
  shareIn(storage: StorageAdapter): StorageAdapter {
    const list = (folder: SourcePath, options: ListOptions = {}) =>
      options.mayJoin === true
        ? this.#joinOrRun({ storage, path: folder }, options)
        : storage.list(folder, options);
    return new Proxy(storage, {
      get: (_target, key) => {
        const member: unknown = Reflect.get(storage, key, storage);
        if (typeof member !== 'function') return member;
        if (key === 'list') return list;
        const method = member.bind(storage) as Method;
        if (key === 'stage')
          return async (...given: readonly unknown[]) =>
            this.#staged(storage, (await method(...given)) as StagedFile);
        return CHANGES.has(key) ? this.#noting(storage, method) : method;
      },
    });
  }

  /** Wraps a method that changes entries at the given paths, whether it succeeds or not. */
  #noting(storage: StorageAdapter, method: Method): Method {
    return async (...given) => {
      try {
        return await method(...given);
      } finally {
        for (const path of given) if (path instanceof SourcePath) this.#close({ storage, path });
      }
    };
  }

  #staged(storage: StorageAdapter, staged: StagedFile): StagedFile {
    return {
      size: staged.size,
      open: () => staged.open(),
      commit: this.#noting(storage, staged.commit.bind(staged) as Method) as StagedFile['commit'],
      discard: () => staged.discard(),
    };
  }

  /** Stops sharing listings of folders above or below the changed path, in every store. */
  #close(changed: StoreLocation): void {
    for (const running of this.#running) if (overlaps(running, changed)) this.#running.delete(running);
  }

  async *#joinOrRun(location: StoreLocation, options: ListOptions) {
    const { storage, path } = location;
    for (;;) {
      // Never a listing of another store, which may have other permissions.
      const joined = [...this.#running].find((one) => one.storage === storage && one.path.equals(path));
      if (joined === undefined) return yield* this.#run(location, options);
      const outcome = await orAborted(joined.outcome, options.signal);
      if (outcome === 'left') continue;
      if (outcome === 'large') {
        yield* storage.list(path, options);
        return;
      }
      if (outcome.omitted > 0) options.onOmitted?.(outcome.omitted);
      yield* outcome.pages;
      return;
    }
  }

  async *#run({ storage, path }: StoreLocation, options: ListOptions) {
    let settle: (outcome: Outcome) => void = () => undefined;
    let fail: (error: unknown) => void = () => undefined;
    const outcome = new Promise<Outcome>((resolve, reject) => {
      settle = resolve;
      fail = reject;
    });
    // Waiting callers get the failure; without any it concerns only the first reader.
    outcome.catch(() => undefined);
    const running = { storage, path, outcome };
    this.#running.add(running);
    const pages: (readonly Entry[])[] = [];
    let [kept, omitted, isLarge] = [0, 0, false];
    const onOmitted = (count: number): void => {
      omitted += count;
      options.onOmitted?.(count);
    };
    const drop = (): void => {
      this.#running.delete(running);
      this.#kept -= kept;
      kept = 0;
    };
    try {
      for await (const page of storage.list(path, { ...options, onOmitted })) {
        isLarge ||= this.#kept + page.length > MOST_KEPT;
        if (isLarge) {
          pages.length = 0;
          drop();
          settle('large');
        } else {
          pages.push(page);
          kept += page.length;
          this.#kept += page.length;
        }
        yield page;
      }
      settle({ pages, omitted });
    } catch (error) {
      if (options.signal?.aborted !== true) fail(error);
      throw error;
    } finally {
      settle('left');
      drop();
    }
  }
}
