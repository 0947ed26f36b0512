import { readFile } from 'node:fs/promises';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
  sweepTemporaryFolders,
} from '../../basics/files/temporary-folder.ts';
import type { Browser, CDPSession, PuppeteerNode } from 'puppeteer-core';
import type { BrowserExecutable } from './executable.ts';

const PREFIX = 'stowage-browser-';

/**
 * Makes a private folder that a browser may write to, and removes what dead processes have left of theirs.
 */
const createProfile = async (): Promise<string> => {
  await sweepTemporaryFolders(PREFIX);
  return makeTemporaryFolder(PREFIX);
};

/**
 * Bytes of memory that belong to a process alone, without program code and other mapped files. Undefined
 * where the system does not say (no Linux) and when the process has gone.
 */
const memoryOf = async (pid: number): Promise<number | undefined> => {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const parts = [...status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gmu)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, kb]) => sum + Number(kb) * 1024, 0);
};

/** How long a browser may take to end by itself before it is killed. */
const CLOSE_MS = 3000;

const ARGS = [
  // No name and no address leads anywhere: all that a page needs is answered by us. Prefetch and preconnect
  // do not ask us.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
];

/** Variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One process of a browser. */
export interface BrowserProcess {
  readonly pid: number;
  readonly bytes: number;
}

/** A browser that this process has started and must end. */
export interface StartedBrowser {
  readonly browser: Browser;
  /** Aborted when the browser has gone, whether it was closed or died. */
  readonly gone: AbortSignal;
  /** The processes of the browser with their memory; empty where the system does not say. */
  processes(): Promise<readonly BrowserProcess[]>;
  /** Ends all processes and removes the files of the browser. May be called several times; never throws. */
  close(): Promise<void>;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

/**
 * The browser leads a process group of its own on POSIX systems, so that a wrapper script cannot leave it
 * behind.
 */
const killGroup = (browser: Browser): void => {
  const child = browser.process();
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
};

const listProcesses = async (session: CDPSession): Promise<readonly BrowserProcess[]> => {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const measured = await Promise.all(
    processInfo.map(async ({ id }) => ({ pid: id, bytes: (await memoryOf(id)) ?? 0 })),
  );
  return measured.filter(({ bytes }) => bytes > 0);
};

/** Starts a browser with an empty profile. Takes about a third of a second with a headless shell. */
export const startBrowser = async (
  puppeteer: Pick<PuppeteerNode, 'launch'>,
  executable: BrowserExecutable,
  { sandboxed, environment }: { readonly sandboxed: boolean; readonly environment: Environment },
): Promise<StartedBrowser> => {
  const profile = await createProfile();
  try {
    const browser = await puppeteer.launch({
      executablePath: executable.path,
      headless: executable.headless,
      // A pipe, not a port: no other program of the machine can talk to the browser, and it ends when this
      // process is killed.
      pipe: true,
      userDataDir: profile,
      args: [...ARGS, ...(sandboxed ? [] : ['--no-sandbox'])],
      env: { ...environment, HOME: profile },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    return await watched(browser, profile);
  } catch (error) {
    await removeTemporaryFolder(profile);
    throw error;
  }
};

/**
 * A browser that is killed resets its pipes, and the library has stopped to listen by then: an error that
 * is not handled would end the whole service. Its connection reports that the browser is gone.
 */
const hearPipes = (browser: Browser): void => {
  for (const pipe of browser.process()?.stdio ?? []) pipe?.on('error', () => undefined);
};

const watched = async (browser: Browser, profile: string): Promise<StartedBrowser> => {
  hearPipes(browser);
  const gone = new AbortController();
  browser.once('disconnected', () => gone.abort());
  const session = await browser
    .target()
    .createCDPSession()
    .catch((error: unknown) => {
      killGroup(browser);
      throw error;
    });
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await Promise.race([browser.close(), pause(CLOSE_MS)]).catch(() => undefined);
    killGroup(browser);
    gone.abort();
    await removeTemporaryFolder(profile);
  };
  return {
    browser,
    gone: gone.signal,
    processes: () => listProcesses(session).catch(() => []),
    close: () => (closing ??= end()),
  };
};
