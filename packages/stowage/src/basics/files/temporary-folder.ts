import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from './system-errors.ts';

const MARK = /^([0-9a-f]{12})-([0-9a-f]{12})-([0-9a-f]{12})-(\d+)-(\d+)(?:-|$)/u;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);
const orNothing = (reading: Promise<string>): Promise<string> => reading.catch(() => '');

/**
 * Clock ticks from boot to the start of a process. Together with the id it identifies a process until the
 * next boot, while ids alone are reused. '0' where the system does not report it.
 */
const startOf = async (pid: number): Promise<string> => {
  const text = await orNothing(readFile(`/proc/${pid}/stat`, 'latin1'));
  // The second field is the program's name in brackets, which may contain blanks and brackets.
  const start = text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  return start !== undefined && /^\d+$/u.test(start) ? start : '0';
};

const readMachine = async (): Promise<{ host: string; boot: string; space: string }> => {
  const [machine, boot, space] = await Promise.all([
    // Machines and containers may share a host name.
    orNothing(readFile('/etc/machine-id', 'latin1')),
    orNothing(readFile('/proc/sys/kernel/random/boot_id', 'latin1')),
    orNothing(readlink('/proc/self/ns/pid')),
  ]);
  return { host: digest(`${hostname()} ${machine}`), boot: digest(boot), space: digest(space) };
};

/**
 * A text that identifies this process among all processes ever started, on any machine: host, boot, process
 * namespace, id and start time. Safe as (the beginning of) a file name. It distinguishes leftovers from files
 * of a running process.
 */
export const readProcessMark = async (): Promise<string> => {
  const [machine, start] = await Promise.all([readMachine(), startOf(process.pid)]);
  return `${machine.host}-${machine.boot}-${machine.space}-${process.pid}-${start}`;
};

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return systemCode(error) !== 'ESRCH';
  }
};

/**
 * State of the process in a name's mark. `rebooted`: it ran before this machine was booted, or on a machine
 * that cannot be distinguished from this one (containers with the same host name and without a machine id).
 * `unknown`: no mark, another machine or another process namespace.
 */
export const processState = async (name: string): Promise<'running' | 'gone' | 'rebooted' | 'unknown'> => {
  const [, host, boot, space, pid, start] = MARK.exec(name) ?? [];
  if (pid === undefined) return 'unknown';
  const here = await readMachine();
  if (host !== here.host) return 'unknown';
  if (boot !== here.boot) return 'rebooted';
  if (space !== here.space) return 'unknown';
  if (!exists(Number(pid))) return 'gone';
  const now = await startOf(Number(pid));
  return now === '0' || start === '0' || now === start ? 'running' : 'gone';
};

const HOUR_MS = 60 * 60 * 1000;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Whether files whose name begins with a mark are leftovers: their process is gone; or it cannot be checked,
 * and they are unchanged for an hour after another boot, or for `unknownMs` otherwise (default: they are
 * kept).
 * @param changedAt time of their last change; called only when needed
 */
export const isLeftOver = async (
  name: string,
  changedAt: () => Promise<number>,
  { now = Date.now(), unknownMs = NEVER }: { readonly now?: number; readonly unknownMs?: number } = {},
): Promise<boolean> => {
  const state = await processState(name);
  if (state === 'running' || state === 'gone') return state === 'gone';
  const age = state === 'rebooted' ? Math.min(HOUR_MS, unknownMs) : unknownMs;
  return age !== NEVER && now - (await changedAt()) > age;
};

/**
 * Creates an empty folder for the files of one program, readable only by this user. Its name consists of the
 * prefix, the mark of the process and random characters.
 */
export const makeTemporaryFolder = async (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `${prefix}${await readProcessMark()}-`));

/** Whether the folder can be changed by this user only: in another one, a link could replace a subfolder. */
export const isOwnFolder = (found: Stats): boolean =>
  found.isDirectory() &&
  (process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0));

/** Removes this user's folders with this prefix whose processes have ended. Never throws. */
export const sweepTemporaryFolders = async (prefix: string): Promise<void> => {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    try {
      const folder = join(tmpdir(), name);
      const found = await lstat(folder);
      if (!isOwnFolder(found) || !(await isLeftOver(name.slice(prefix.length), async () => found.mtimeMs)))
        continue;
      await rm(folder, { recursive: true, force: true });
    } catch {
      // The next start tries again.
    }
  }
};

/** Removes a folder whose program has ended. Never throws. */
export const removeTemporaryFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
