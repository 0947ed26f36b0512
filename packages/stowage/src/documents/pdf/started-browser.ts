import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, CDPSession, PuppeteerNode } from 'puppeteer-core';
import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
  sweepTemporaryFolders,
} from '../../basics/files/temporary-folder.ts';
import { notInstalled } from '../../errors/optional-package.ts';
import { isExecutable, killGroup } from '../../pictures/previews/programs.ts';

interface BrowserExecutable {
  readonly path: string;
  /** Whether this build carries a sandbox of its own. */
  readonly hasSandbox: boolean;
  /** `shell`: the small build without a window, three times faster. */
  readonly headless: true | 'shell';
}

const FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const NAMES = [
  'chromium-headless-shell',
  'chrome-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
];
const OTHERS = [
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Part of an npm package that carries a browser; it has no types of its own where it is not installed. */
interface PackagedChromium {
  executablePath(): Promise<string>;
}

const described = (path: string): BrowserExecutable => ({
  path,
  hasSandbox: true,
  headless: basename(path).includes('headless-shell') ? 'shell' : true,
});

/**
 * Whether only this user can have put a file where it is: the package unpacks into the folder that all
 * users share.
 */
const isOwn = async (path: string): Promise<boolean> => {
  const { uid, mode } = await stat(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
};

const findPackaged = async (): Promise<BrowserExecutable | undefined> => {
  // A variable keeps compilers and bundlers from looking for what need not be there.
  const name = '@sparticuz/chromium';
  try {
    const { default: chromium } = (await import(name)) as { default: PackagedChromium };
    const path = await chromium.executablePath();
    return (await isOwn(path)) ? { path, hasSandbox: false, headless: 'shell' } : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The browser to print with: the configured one, else a headless shell or browser of the system, else the one
 * of the npm package @sparticuz/chromium.
 * @throws UnsupportedError when there is none
 */
export const findBrowser = async (configured: string | undefined): Promise<BrowserExecutable> => {
  const candidates =
    configured === undefined
      ? [...NAMES.flatMap((name) => FOLDERS.map((folder) => `${folder}/${name}`)), ...OTHERS]
      : [configured];
  for (const path of candidates) if (await isExecutable(path)) return described(path);
  const packaged = configured === undefined ? await findPackaged() : undefined;
  if (packaged !== undefined) return packaged;
  throw notInstalled('Making PDF files', 'Chromium (chromium-headless-shell or chromium), which is');
};

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

/** How long a browser may take to start before it is killed. */
const START_MS = 30_000;
/** How long a browser may take to end by itself before it is killed. */
const CLOSE_MS = 3000;
/** How long a browser may take to name its processes. */
const LIST_MS = 3000;

const ARGS = [
  // No name and no address leads anywhere: all that a page needs is answered by us. Prefetch and preconnect
  // do not ask us.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
];

/** Variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface BrowserProcess {
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

/** With what a wrapper script would leave behind. */
const kill = (browser: Browser): void => {
  const child = browser.process();
  if (child !== null) killGroup(child);
};

const listProcesses = async (session: CDPSession): Promise<readonly BrowserProcess[]> => {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const measured = await Promise.all(
    processInfo.map(async ({ id }) => ({ pid: id, bytes: (await memoryOf(id)) ?? 0 })),
  );
  return measured.filter(({ bytes }) => bytes > 0);
};

/** How a browser is started. */
interface StartOptions {
  readonly sandboxed: boolean;
  readonly environment: Environment;
  /** Kills a browser that is still starting. */
  readonly signal: AbortSignal;
}

/**
 * Starts a browser with an empty profile. Takes about a third of a second with a headless shell.
 * @throws errors of the library; an error when the browser does not start in time; the signal's reason
 */
export const startBrowser = async (
  puppeteer: Pick<PuppeteerNode, 'launch'>,
  executable: BrowserExecutable,
  { sandboxed, environment, signal }: StartOptions,
): Promise<StartedBrowser> => {
  const profile = await createProfile();
  const launch = async (limit: AbortSignal): Promise<StartedBrowser> => {
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
      signal: limit,
    });
    return watched(browser, profile);
  };
  try {
    return await inTimeLimit(START_MS, signal, (limit) => orAborted(launch(limit), limit));
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
      kill(browser);
      throw error;
    });
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    const patience = setTimeout(CLOSE_MS, undefined, { ref: false });
    await Promise.race([browser.close(), patience]).catch(() => undefined);
    kill(browser);
    gone.abort();
    await removeTemporaryFolder(profile);
  };
  return {
    browser,
    gone: gone.signal,
    processes: () =>
      inTimeLimit(LIST_MS, undefined, (limit) => orAborted(listProcesses(session), limit)).catch(() => []),
    close: () => (closing ??= end()),
  };
};
