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
  /** Whether this build has its own sandbox. */
  readonly hasSandbox: boolean;
  /** `shell`: the small headless build, three times faster. */
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

/** The used part of an npm package with a browser; its types are missing where it is not installed. */
interface PackagedChromium {
  executablePath(): Promise<string>;
}

const described = (path: string): BrowserExecutable => ({
  path,
  hasSandbox: true,
  headless: basename(path).includes('headless-shell') ? 'shell' : true,
});

/** Whether only this user can have created the file: the package unpacks into a shared folder. */
const isOwn = async (path: string): Promise<boolean> => {
  const { uid, mode } = await stat(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
};

const findPackaged = async (): Promise<BrowserExecutable | undefined> => {
  // A variable, so that compilers and bundlers do not resolve the optional package.
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

/** Creates a private profile folder for a browser, and removes leftovers of dead processes. */
const createProfile = async (): Promise<string> => {
  await sweepTemporaryFolders(PREFIX);
  return makeTemporaryFolder(PREFIX);
};

/**
 * Memory of a process in bytes, without program code and other mapped files. Undefined where the system does
 * not report it (other than Linux), and when the process has ended.
 */
const memoryOf = async (pid: number): Promise<number | undefined> => {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const parts = [...status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gmu)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, kb]) => sum + Number(kb) * 1024, 0);
};

/** Time limit for starting a browser; after it the browser is killed. */
const START_MS = 30_000;
/** Time limit for a regular end of a browser; after it the browser is killed. */
const CLOSE_MS = 3000;
/** Time limit for listing the processes of a browser. */
const LIST_MS = 3000;

const ARGS = [
  // No name resolves: all requests of a page are handled by the service. Prefetch and preconnect bypass that
  // handler.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
];

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface BrowserProcess {
  readonly pid: number;
  readonly bytes: number;
}

/** A browser that this process has started and must end. */
export interface StartedBrowser {
  readonly browser: Browser;
  /** Aborted when the browser has ended, regularly or not. */
  readonly gone: AbortSignal;
  /** The processes of the browser with their memory; empty where the system does not report it. */
  processes(): Promise<readonly BrowserProcess[]>;
  /** Ends all processes and removes the files of the browser. May be called several times; never throws. */
  close(): Promise<void>;
}

/** Kills the process group: a wrapper script would leave its children behind. */
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
      // A pipe, not a port: no other program of the machine can control the browser, and it ends when this
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
 * A killed browser resets its pipes after the library has removed its listeners: the unhandled error would
 * end the whole service. The end of the browser is reported by its connection.
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
