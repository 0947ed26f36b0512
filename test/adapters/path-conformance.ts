import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { storageConformance, type SkippedCase, type StorePromises } from 'stowage/testing';
import { capabilitiesOf } from '#internals';
import { runsEverything, isInTurn } from '../before-release.ts';
import { OF_SERVERS } from './further-servers.ts';
import { openFtpStore, type FtpServer } from '../../tools/test-servers/ftp.ts';
import { openSftpStore, type SftpServer } from '../../tools/test-servers/ssh.ts';
import type { OpenPathStore, PathServer, PathStore } from './path-stores.ts';
import { ownedByRunner } from '../../tools/test-servers/programs.ts';

/** Which part of the suite runs on which server, started when the first case wants it. */
interface PathSuite<Server> {
  readonly name: string;
  readonly installed: boolean;
  readonly start: () => Promise<Server>;
  /** Themes of the suite; all by default. */
  readonly themes?: readonly string[];
  readonly skip?: readonly SkippedCase[];
  /** What the server makes the store promise. */
  readonly promises?: StorePromises;
}

/** What ProFTPD refuses. */
export const PROFTPD_REFUSES: readonly SkippedCase[] = [
  {
    test: 'names: a colon and a star in the names of a file and of a folder',
    reason: 'ProFTPD makes no folder with a star in its name',
  },
];

const emptyFolder = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) await rm(join(folder, name), { recursive: true, maxRetries: 5 });
};

const describeServer = <Server extends PathServer>(
  adapter: 'ftp' | 'sftp',
  openStore: OpenPathStore<Server>,
  { name, installed, start, themes, skip = [], promises = {} }: PathSuite<Server>,
): void => {
  describe.skipIf(!installed)(
    `the ${adapter} adapter on ${name}${installed ? '' : ' (not installed)'}`,
    () => {
      let server: Promise<Server> | undefined;
      const stores = new Map<string, PathStore>();
      const closing: (() => Promise<void>)[] = [];
      afterAll(async () => {
        await Promise.all(closing.map((close) => close()));
        await (await server)?.stop();
      });
      const root = `cases-${randomUUID()}`;
      /**
       * Each connection costs a login, which takes longer than most cases: they share two stores, except in a
       * run of everything, where each case has stores that have learned nothing of the server.
       */
      const openKept = (running: Server, name: string): PathStore => {
        const kept = stores.get(name);
        if (kept !== undefined) return kept;
        const store = openStore(running, { connections: 2 }, root);
        if (runsEverything) return store;
        closing.push(store.close.bind(store));
        stores.set(name, Object.assign(store, { close: () => Promise.resolve() }));
        return store;
      };
      const cases = storageConformance({
        open: async () => {
          const running = await (server ??= start());
          const folder = join(running.data, root);
          const plant = async (path: string): Promise<void> => {
            const file = join(folder, path);
            await mkdir(dirname(file), { recursive: true });
            await ownedByRunner(dirname(file));
            await writeFile(file, 'planted');
          };
          const own = adapter === 'ftp' ? {} : { another: () => openKept(running, 'another') };
          return { adapter: openKept(running, 'first'), ...own, plant, cleanup: () => emptyFolder(folder) };
        },
        plants: true,
        promises: { ...capabilitiesOf(adapter), caseSensitive: true, ...promises },
        skip,
      });
      // FTP and SFTP share their core: what depends on it more than on the server runs on either, in turn.
      const isDue = (theme: string, title: string): boolean =>
        themes?.includes(theme) ?? (OF_SERVERS.includes(theme) || isInTurn(adapter === 'ftp' ? 0 : 1, title));
      for (const { theme, name: title, skipReason, run } of cases) {
        if (!isDue(theme, title)) continue;
        if (skipReason === undefined) it(`${theme}: ${title}`, run);
        else it.skip(`${theme}: ${title} (skipped: ${skipReason})`, run);
      }
    },
  );
};

/** Runs the conformance suite, or some of its themes, on a real server. */
export const describeFtpServer = (suite: PathSuite<FtpServer>): void =>
  describeServer('ftp', openFtpStore, suite);

/** Runs the conformance suite, or some of its themes, on a real server. */
export const describeSftpServer = (suite: PathSuite<SftpServer>): void =>
  describeServer('sftp', openSftpStore, {
    ...suite,
    promises: { atomicCreate: true, atomicReplace: true, ...suite.promises },
  });
