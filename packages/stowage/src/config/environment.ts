import { delimiter, isAbsolute } from 'node:path';

/** An environment variable; an empty one counts as not set. */
export const readVariable = (name: string): string | undefined => process.env[name] || undefined;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Only this machine: serving others must be an explicit choice, made together with access rules. */
export const DEFAULT_ADDRESS: Address = { host: '127.0.0.1', port: 8081 };

/** Environment variables of the source that serves when the configuration has none. */
export interface SourceEnvironment {
  readonly SOURCE_NAME?: string | undefined;
  readonly SOURCE_ROOT?: string | undefined;
  readonly SOURCE_BASEURL?: string | undefined;
  readonly signingSecret?: readonly string[] | undefined;
}

/** Base URL when `SOURCE_BASEURL` is not set. A warning at the start reports it. */
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

/** Variables that child processes need. Others may be secrets, and those programs read untrusted files. */
const PROGRAM_VARIABLES = /^(?:PATH|LANG|LC_.*|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|FONTCONFIG_.*|SYSTEMROOT)$/iu;

/** The environment of child processes. */
export const readProgramEnvironment = (): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => PROGRAM_VARIABLES.test(name)));

export const readProgramFolders = (): readonly string[] =>
  (process.env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));

/** The Chromium browser that prints PDF files: its path if `STOWAGE_CHROMIUM` is set, and its environment. */
export const readBrowser = () => ({
  path: readVariable('STOWAGE_CHROMIUM'),
  environment: readProgramEnvironment(),
});

/** Threads of Node for files and images, by `UV_THREADPOOL_SIZE`; by default those of the runtime. */
export const readThreadPoolSize = (): number => {
  const size = Number(process.env['UV_THREADPOOL_SIZE']);
  return Number.isInteger(size) && size > 0 ? size : 4;
};
