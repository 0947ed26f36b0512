import type { Source, SourceGroup, SourceSet } from './source.ts';
import { inTimeLimit, Once, orAborted } from '../basics/concurrency/abort.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { SourceConfig } from '../config/types.ts';
import { UnsupportedError } from '../errors/errors.ts';
import { fingerprintOf } from './tenants.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import { containsLocation, type StoreLocation } from '../storage/location.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { requiringRoot } from '../storage/requiring-root.ts';
import { SourcePath } from '../storage/source-path.ts';
import { KnownRecords } from '../storage/moved/known-records.ts';
import { createTrashRecords } from '../storage/trash/record.ts';

/** First segment of the paths of served files. */
export const FILE_ROUTE = 'file';

/** Base path of the served files of a source: `<mount>/file/<source>/`. */
export const servedBelow = (mount: string, { name }: Pick<Source, 'name'>): string =>
  `${mount}/${FILE_ROUTE}/${encodeURIComponent(name)}/`;

export interface RequestAddress {
  /** Mount path of the service, without a trailing slash. */
  readonly mount: string;
  /** Host names of the service that browsers may use. Untrusted; only compared with absolute links. */
  readonly hosts: readonly string[];
}

const originsOf = (hosts: readonly string[]): string[] =>
  // The `Host` header may hold any text.
  hosts.flatMap((host) => [`https://${host}`, `http://${host}`]).filter((origin) => URL.canParse(origin));

/**
 * The sources as a request sees them: those without a `baseurl` get the address of the request, and those
 * with a path only also match absolute links to the hosts of the request.
 */
export const seenFrom = (
  { mount, hosts }: RequestAddress,
  sources: SourceSet,
  publicUrl: string | undefined,
): SourceSet => {
  if (!sources.all.some(({ baseurl }) => baseurl.startsWith('/'))) return sources;
  const base = publicUrl === undefined ? mount : publicUrl.replace(/\/$/u, '');
  const seen = new Map(
    sources.all.map((source): [Source, Source] => {
      if (!source.baseurl.startsWith('/')) return [source, source];
      const baseurl = source.servesItself ? servedBelow(base, source) : source.baseurl;
      const seenSource = {
        ...source,
        baseurl,
        // Only a few actions read links, and parsing addresses is expensive.
        get baseurlAliases() {
          const path = new URL(baseurl, 'http://host').pathname;
          return [...source.baseurlAliases, path, ...originsOf(hosts).map((origin) => origin + path)];
        },
      };
      return [source, seenSource];
    }),
  );
  return {
    all: [...seen.values()],
    find: (name) => {
      const found = sources.find(name);
      return found === undefined ? undefined : seen.get(found);
    },
  };
};

/**
 * The sources for texts of the host, without a request: below the first mount address, and for links of the
 * text also below the others, with and without their hosts.
 */
export const seenInTexts = (sources: SourceSet, [first = '', ...others]: readonly string[]): SourceSet => {
  const hosts = [first, ...others].filter((mount) => URL.canParse(mount)).map((mount) => new URL(mount).host);
  const below = (mount: string): SourceSet =>
    seenFrom({ mount: mount.replace(/\/$/u, ''), hosts }, sources, undefined);
  const seen = others.map(below);
  const all = below(first).all.map((source, index): Source => {
    const more = seen.map((set) => set.all[index]).filter((other) => other !== undefined);
    const aliases = more.flatMap(({ baseurl, baseurlAliases }) => [baseurl, ...baseurlAliases]);
    return { ...source, baseurlAliases: [...source.baseurlAliases, ...aliases] };
  });
  return { all, find: (name) => all.find((source) => source.name === name || source.key === name) };
};

export interface SourceDependencies {
  readonly factories: StorageFactories;
  readonly log: Logger;
  readonly tenant?: string | undefined;
  /** @see StorageFactoryContext.sweeps */
  readonly sweeps?: boolean | undefined;
}

const openStorage = async (config: SourceConfig, { factories, log, sweeps }: SourceDependencies) => {
  const factory = factories.get(config.storageAdapter);
  if (factory === undefined)
    throw new UnsupportedError({ detail: `no storage adapter named ${config.storageAdapter}` });
  const { adapterOptions, root, name } = config;
  return factory.create({ options: adapterOptions, root, sourceName: name, log, sweeps });
};

/** Settings that hold credentials: they may change while the location stays the same. */
const LOGINS =
  /credential|password|passphrase|secret|signature|token$|^(?:accountKey|connectionString|headers|privateKey)$/iu;

const scopeOf = (tenant: string, { storageAdapter, root, adapterOptions }: SourceConfig): string =>
  JSON.stringify([tenant, fingerprintOf([storageAdapter, root, adapterOptions], LOGINS)]);

/** Time limit for opening another store to compare its root. */
const OPENING_MS = 2000;

/** Creates sources without opening their stores. */
export const createSourceGroup = (
  configs: readonly SourceConfig[],
  dependencies: SourceDependencies,
): SourceGroup => {
  const storages: Once<StorageAdapter>[] = [];
  // Sources share a store when the factory returns the same adapter for them.
  const stores = new WeakMap<StorageAdapter, StorageAdapter>();
  const open = async (config: SourceConfig): Promise<StorageAdapter> => {
    const adapter = await openStorage(config, dependencies);
    const store = stores.get(adapter) ?? requiringRoot(adapter);
    stores.set(adapter, store);
    return store;
  };
  const all: readonly Source[] = configs.map((config): Source => {
    const once = new Once<StorageAdapter>();
    storages.push(once);
    const storage = (): Promise<StorageAdapter> => once.get(() => open(config));
    const holdsOtherRoot = async (path: SourcePath): Promise<boolean> => {
      const outer = { storage: await storage(), path };
      // Stores of different adapters share no entries. One that does not open, such as a disk that hangs, must
      // not hold up the others.
      const others = all.filter(
        (other, index) =>
          other.storage !== storage && configs[index]?.storageAdapter === config.storageAdapter,
      );
      const opened = await Promise.allSettled(
        others.map((other) =>
          inTimeLimit(OPENING_MS, undefined, (signal) => orAborted(other.storage(), signal)),
        ),
      );
      return opened.some(
        (inner) =>
          inner.status === 'fulfilled' &&
          containsLocation(outer, { storage: inner.value, path: SourcePath.root }),
      );
    };
    const { key, name, title, baseurl = servedBelow('', config), baseurlAliases, settings } = config;
    const servesItself = config.baseurl === undefined;
    const { tenant } = dependencies;
    const scope = tenant === undefined ? undefined : scopeOf(tenant, config);
    const describes = { key, name, title, baseurl, baseurlAliases, servesItself, tenant, scope, settings };
    const known = { trashRecords: createTrashRecords(), movedRecords: new KnownRecords() };
    return { ...describes, ...known, storage, holdsOtherRoot };
  });
  const byName = new Map<string, Source>(all.map((source) => [source.name, source]));
  // Names win over keys, so that a key never hides a source with this name.
  for (const source of all) if (!byName.has(source.key)) byName.set(source.key, source);
  return {
    all,
    find: (name) => byName.get(name),
    close: async () => {
      const closing = storages.map(async ({ begun }) => (await begun?.catch(() => undefined))?.close?.());
      const results = await Promise.allSettled(closing);
      for (const result of results) {
        if (result.status === 'rejected')
          dependencies.log.warn('A store did not close cleanly.', { error: result.reason });
      }
    },
  };
};

/** Lists the first entries of the root: some stores return the stat of a root without a request. */
const askStore = async ({ storage }: Source, signal: AbortSignal): Promise<void> => {
  for await (const _page of (await storage()).list(SourcePath.root, { signal })) return;
};

/** The names of the sources whose store does not respond in time. Never rejects; the reasons are logged. */
export type UnavailableSources = (timeoutMs: number) => Promise<readonly string[]>;

/**
 * Checks whether stores respond. Does not start a second check while one is pending: on a disk that hangs,
 * each check would block one of the few threads for file access.
 */
export const createUnavailableSources = ({ all }: SourceSet, log: Logger): UnavailableSources => {
  const owed = new Map<Source, Promise<void>>();
  const ask = async (source: Source, signal: AbortSignal): Promise<void> => {
    for (let before = owed.get(source); before !== undefined; before = owed.get(source))
      await orAborted(before, signal);
    const asking = askStore(source, signal);
    const ended = asking.catch(() => undefined).finally(() => owed.delete(source));
    owed.set(source, ended);
    await orAborted(asking, signal);
  };
  return async (timeoutMs) => {
    const asked = all.map(async (source) => {
      try {
        await inTimeLimit(timeoutMs, undefined, (signal) => ask(source, signal));
        return [];
      } catch (error) {
        log.warn('A source does not respond.', { source: source.name, error });
        return [source.name];
      }
    });
    return (await Promise.all(asked)).flat();
  };
};

interface Opened extends StoreLocation {
  readonly name: string;
}

/** Pairs of sources where the second is inside the first, or the same folder. */
export const overlapsOf = (opened: readonly Opened[]): string[] =>
  opened.flatMap((outer, number) =>
    opened.flatMap((inner, other) => {
      if (outer === inner || !containsLocation(outer, inner)) return [];
      // Two sources of one folder contain each other: report one pair.
      if (other < number && containsLocation(inner, outer)) return [];
      return [`${outer.name} > ${inner.name}`];
    }),
  );

/**
 * Opens the configured stores in the background, so that leftovers of a killed process are removed before the
 * first request. A store that fails to open is retried by the request that needs it. Warns once when sources
 * share entries: the rules, limits and hidden folders of one do not apply in the other.
 */
export const openAtStart = async ({ all }: SourceGroup, log: Logger): Promise<void> => {
  const opened = await Promise.all(
    all.map(async ({ name, storage }): Promise<Opened | undefined> => {
      try {
        return { name, storage: await storage(), path: SourcePath.root };
      } catch (error) {
        log.warn('A source cannot be opened.', { source: name, error });
        return undefined;
      }
    }),
  );
  const pairs = overlapsOf(opened.filter((source) => source !== undefined));
  if (pairs.length > 0)
    log.warn('Sources lie in each other: what one forbids or hides can be reached by the other.', { pairs });
};
