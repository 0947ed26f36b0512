import { delimiter, isAbsolute } from 'node:path';

/** A variable of the process; one that is set to nothing counts as not set. */
export const readVariable = (name: string): string | undefined => process.env[name] || undefined;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** This machine only: who wants to serve others has to say so, and to think of access rules. */
export const DEFAULT_ADDRESS: Address = { host: '127.0.0.1', port: 8081 };

/** What the environment says of the source that serves when a configuration names none. */
export interface SourceEnvironment {
  readonly SOURCE_NAME?: string | undefined;
  readonly SOURCE_ROOT?: string | undefined;
  readonly SOURCE_BASEURL?: string | undefined;
  readonly signingSecret?: readonly string[] | undefined;
}

/** Where files are taken to be served when `SOURCE_BASEURL` is not set. A start-up warning says so. */
export const DEFAULT_BASEURL = 'http://localhost:8080/files/';

export const readSourceEnvironment = (): SourceEnvironment => {
  const { SOURCE_NAME, SOURCE_ROOT, SOURCE_BASEURL } = process.env;
  return { SOURCE_NAME, SOURCE_ROOT, SOURCE_BASEURL, signingSecret: readSigningSecret() };
};

/** The keys that sign links; undefined when `STOWAGE_SIGNING_SECRET` is not set. */
const readSigningSecret = (): readonly string[] | undefined => {
  const keys = (process.env['STOWAGE_SIGNING_SECRET'] ?? '').split(/\s+/u).filter((key) => key !== '');
  return keys.length === 0 ? undefined : keys;
};

/**
 * Variables that other programs need. All others may be secrets, and those programs read files of strangers.
 */
const PROGRAM_VARIABLES = /^(?:PATH|LANG|LC_.*|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|FONTCONFIG_.*|SYSTEMROOT)$/iu;

/** All that programs that this process starts may know of its environment. */
export const readProgramEnvironment = (): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => PROGRAM_VARIABLES.test(name)));

/** The folders in which the system looks for programs. */
export const readProgramFolders = (): readonly string[] =>
  (process.env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));

/**
 * The Chromium browser that prints PDF files: its path where `STOWAGE_CHROMIUM` is set, and all that it may
 * know of the environment.
 */
export const readBrowser = () => ({
  path: readVariable('STOWAGE_CHROMIUM'),
  environment: readProgramEnvironment(),
});

/**
 * Threads that Node runs files and picture work on, by `UV_THREADPOOL_SIZE`; the runtime's own number when it
 * is not set.
 */
export const readThreadPoolSize = (): number => {
  const size = Number(process.env['UV_THREADPOOL_SIZE']);
  return Number.isInteger(size) && size > 0 ? size : 4;
};
