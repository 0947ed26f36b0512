import { access, constants, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { notInstalled } from '../../errors/optional-package.ts';

/** A browser that can be started. */
export interface BrowserExecutable {
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

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

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
