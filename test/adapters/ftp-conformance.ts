import { randomUUID } from 'node:crypto';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { storageConformance, type SkippedCase } from 'stowage/testing';
import { openFtpStore, type FtpServer } from './servers/ftp.ts';
import { runner } from './servers/programs.ts';

/** Which part of the suite runs on which server, started when the first case wants it. */
export interface FtpSuite {
  readonly name: string;
  readonly installed: boolean;
  readonly start: () => Promise<FtpServer>;
  /** Themes of the suite; all by default. */
  readonly themes?: readonly string[];
  readonly skip?: readonly SkippedCase[];
}

/** What ProFTPD refuses. */
export const PROFTPD_REFUSES: readonly SkippedCase[] = [
  {
    test: 'names: a colon and a star in the names of a file and of a folder',
    reason: 'ProFTPD makes no folder with a star in its name',
  },
];

/** Runs the conformance suite, or some of its themes, on a real server. */
export const describeFtpServer = ({ name, installed, start, themes, skip = [] }: FtpSuite): void => {
  describe.skipIf(!installed)(`the ftp adapter on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: Promise<FtpServer> | undefined;
    afterAll(async () => {
      await (await server)?.stop();
    });
    const cases = storageConformance({
      open: async () => {
        const running = await (server ??= start());
        const root = `case-${randomUUID()}`;
        const plant = async (path: string): Promise<void> => {
          const file = join(running.data, root, path);
          await mkdir(dirname(file), { recursive: true });
          if (process.getuid?.() === 0) await chown(dirname(file), runner.uid, runner.gid);
          await writeFile(file, 'planted');
        };
        // Each connection costs a login, which takes longer than most cases.
        return { adapter: openFtpStore(running, { connections: 2 }, root), plant };
      },
      plants: true,
      skip,
    });
    for (const { theme, name: title, skipReason, run } of cases) {
      if (themes !== undefined && !themes.includes(theme)) continue;
      if (skipReason === undefined) it(`${theme}: ${title}`, run);
      else it.skip(`${theme}: ${title} (skipped: ${skipReason})`, run);
    }
  });
};
