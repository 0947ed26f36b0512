import * as errors from '../../../errors/errors.ts';
import { isStale, isTempName } from '../core/temporary.ts';
import type * as port from '../../../storage/adapter.ts';
import { consumeContent } from '../../../storage/content.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { segmentsOfHref } from './address.ts';
import { DavClient } from './client.ts';
import type { WebdavOptions } from './options.ts';
import { openFile } from './read.ts';
import { remove, removeEmptyFolder } from './change.ts';
import { Resources, type ListedMember } from './requests.ts';
import { Store } from './store.ts';
import { stageFile, transferFile, transferFolder, writeFile } from './write.ts';

const DECLARED = capabilitiesOf('webdav');

const removeStale = (
  { leftovers }: Store,
  folder: SourcePath,
  { name, kind, modifiedAt }: port.Stat,
  serverTime: number | undefined,
): void => {
  if (!isStale(name, modifiedAt, serverTime)) return;
  leftovers.removed({ path: folder.below(name), kind }).catch(() => undefined);
};

/** The visible entries, and the number of hidden ones whose names may be aliases of others. */
const shownIn = async (
  store: Store,
  folder: SourcePath,
  members: readonly ListedMember[],
  options: port.OperationOptions,
): Promise<readonly [page: readonly port.Entry[], hidden: number]> => {
  const { letterCase, resources } = store;
  const page: port.Entry[] = [];
  for (const { isSelf, stat, serverTime } of members) {
    const { name, kind, size, modifiedAt, etag } = stat;
    if (isSelf && kind === 'file') throw new errors.WrongKindError();
    if (isSelf) continue;
    if (isTempName(name)) removeStale(store, folder, stat, serverTime);
    else page.push({ name, kind, size, modifiedAt, etag });
  }
  const [first] = page;
  if (first !== undefined) await letterCase.learn(resources, folder.below(first.name), options);
  const shown = letterCase.isKnown ? page.filter(({ name }) => !letterCase.isAlias(name)) : page;
  return [shown, page.length - shown.length];
};

async function* list(store: Store, folder: SourcePath, options: port.ListOptions) {
  await store.prepare(folder, options);
  let aliases = 0;
  try {
    for await (const batch of store.resources.children(folder, options)) {
      const [page, hidden] = await shownIn(store, folder, batch, options);
      aliases += hidden;
      if (page.length > 0) yield page;
    }
    if (aliases > 0) options.onOmitted?.(aliases);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof errors.WrongKindError) throw error;
    // Servers respond with various errors to a listing of a file, and of a path below one.
    const found = await store.find(folder, options).catch(() => 'unknown' as const);
    if (found === undefined) throw new errors.NotFoundError({ cause: error });
    throw found !== 'unknown' && found.kind === 'file' ? new errors.WrongKindError() : error;
  }
}

const stat = async (store: Store, path: SourcePath, options: port.OperationOptions): Promise<port.Stat> => {
  const found = await store.stat(path, options);
  await store.letterCase.learn(store.resources, path, options);
  return found;
};

const refuseRoot = (path: SourcePath, what: 'moved' | 'removed'): void => {
  if (path.isRoot) throw new errors.StorageDeniedError({ detail: `the root is not ${what}` });
};

const createAdapter = (store: Store, identity: port.StoreIdentity) =>
  ({
    identity,
    /** Atomic creation and letter case are known only after trials. */
    get capabilities() {
      const { reservations, letterCase } = store;
      return { ...DECLARED, atomicCreate: reservations.areKept, caseSensitive: letterCase.isSensitive };
    },
    stat: (path, options = {}) => stat(store, path, options),
    checkRoot: async (options = {}) => {
      await store.prepare(SourcePath.root, options);
      await store.resources.requireRoot(options);
    },
    list: (folder, options = {}) => list(store, folder, options),
    read: async (path, options = {}) => {
      const known = await stat(store, path, options);
      if (known.kind === 'folder') throw new errors.WrongKindError();
      if (options.ifMatch !== undefined && known.etag !== options.ifMatch)
        throw new errors.ChangedMeanwhileError();
      return openFile(store.resources, path, known, options);
    },
    write: (path, content, options = {}) =>
      consumeContent(content, options, (chunks) => writeFile(store, path, chunks, options)),
    stage: (content, options = {}) => stageFile(store, content, options),
    makeFolder: async (path, options = {}) => {
      await store.prepare(path, options, true);
      await store.makeFolder(path, options);
    },
    removeFile: (path, options = {}) => remove(store, path, 'file', options),
    removeFolder: async (path, options = {}) => {
      refuseRoot(path, 'removed');
      await remove(store, path, 'folder', options);
    },
    removeEmptyFolder: async (path, options = {}) => {
      refuseRoot(path, 'removed');
      if ((await store.stat(path, options)).kind === 'file') throw new errors.WrongKindError();
      await removeEmptyFolder(store, path, options);
    },
    copyFile: (from, to, options = {}) => transferFile(store, 'COPY', { from, to }, options),
    moveFile: (from, to, options = {}) => transferFile(store, 'MOVE', { from, to }, options),
    copyFolder: (from, to, options = {}) => transferFolder(store, 'COPY', { from, to }, options),
    moveFolder: async (from, to, options = {}) => {
      refuseRoot(from, 'moved');
      await transferFolder(store, 'MOVE', { from, to }, options);
    },
    close: async () => store.resources.client.close(),
  }) satisfies port.StorageAdapter;

export type WebdavAdapter = ReturnType<typeof createAdapter>;

/** Creates a store without contacting the server. `root` is a path below the collection of `url`. */
export const openWebdavAdapter = (options: WebdavOptions, root = ''): WebdavAdapter => {
  const client = new DavClient(options);
  const prefix = SourcePath.parse(root);
  const url = new URL(options.url);
  const base = new Resources(client, url, SourcePath.root);
  const resources = prefix.isRoot ? base : new Resources(client, url, prefix);
  return createAdapter(new Store(resources, base, prefix, options), {
    backend: `webdav:${url.origin}`,
    root: [...(segmentsOfHref(url.pathname) ?? []), ...prefix.segments],
  });
};
