// Loaded first, in every thread: the file system behaves as that of another system, which SYSTEM names.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import threads from 'node:worker_threads';

const original = { ...fs };

const replace = (name, call) => {
  // With the marks that tell `promisify` what to answer.
  fs[name] = Object.defineProperties(call, Object.getOwnPropertyDescriptors(original[name]));
};

/** Lets calls fail where `applies` says so. */
const fail = (name, code, applies = () => true) => {
  replace(name, (...given) => {
    if (!applies(...given)) return original[name](...given);
    const error = Object.assign(new Error(`${code}: as on another system, ${name}`), { code });
    const done = given.at(-1);
    if (typeof done !== 'function') throw error;
    return process.nextTick(done, error);
  });
};

const execArgv = ['--import', import.meta.url];
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, execArgv, env: process.env });
  }
};

const statsOf = (path) => original.lstatSync(path, { throwIfNoEntry: false });
const realPath = (path) => original.realpathSync(String(path));
const isFolder = (path) => statsOf(path)?.isDirectory() === true;
const replacesFolder = (from, to) => isFolder(from) && isFolder(to);

const isOpen = (path) => {
  const inode = statsOf(path)?.ino;
  return original.readdirSync('/proc/self/fd').some((fd) => {
    const opened = original.statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false });
    return opened?.isFile() === true && opened.ino === inode;
  });
};

const damage = () => {
  for (const name of ['lstat', 'lstatSync'])
    fail(name, 'EIO', (path) => String(path).endsWith('/damaged.txt'));
};

const SYSTEMS = {
  'Linux without /proc': () => {
    for (const name of ['readlinkSync', 'stat', 'lstat', 'open', 'opendir'])
      fail(name, 'ENOENT', (path) => String(path).startsWith('/proc/'));
  },
  'Windows with exFAT': () => {
    Object.defineProperty(process, 'platform', { value: 'win32' });
    fail('fsync', 'EPERM', (fd) => original.fstatSync(fd).isDirectory());
    fail('link', 'EISDIR');
    fail('rename', 'EPERM', (from, to) => replacesFolder(from, to) || isOpen(to));
  },
  'rclone mount': () => {
    fail('link', 'EIO');
    damage();
    fail('rename', 'EEXIST', replacesFolder);
  },
  'SMB and Docker Desktop': () => {
    for (const name of ['chmod', 'fchmod', 'futimes']) fail(name, 'EPERM');
    // libuv cannot set the rights of the copy, and removes it then.
    replace('copyFile', (_from, to, _mode, done) =>
      original.unlink(to, () => done(Object.assign(new Error('EPERM, copyfile'), { code: 'EPERM' }))),
    );
  },
  /** Names of one file have numbers of their own, entries no kinds, and open files stay under hidden names. */
  sshfs: () => {
    replace('link', (from, to, done) =>
      original.copyFile(from, to, fs.constants.COPYFILE_EXCL, (error) => {
        if (error !== null) return done(error);
        execFileSync('touch', ['-r', realPath(from), realPath(to)]);
        return done(null);
      }),
    );
    damage();
    const withoutKinds = (path, { encoding = 'utf8' } = {}) => {
      // Of the two, only `readdir` sorts.
      const names = original.readdirSync(path, { encoding }).reverse();
      const readSync = () => {
        const name = names.shift();
        if (name === undefined) return null;
        const stats = fs.lstatSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name)]));
        return Object.assign(stats, { name });
      };
      const closeSync = () => undefined;
      return { readSync, closeSync, read: async () => readSync(), close: async () => undefined };
    };
    replace('opendirSync', withoutKinds);
    replace('opendir', (path, options, done) => {
      let directory;
      try {
        directory = withoutKinds(path, options);
      } catch (error) {
        return done(error);
      }
      return done(null, directory);
    });
    let hidden = 0;
    const hide = (path) => join(dirname(realPath(path)), `.fuse_hidden${String(++hidden)}`);
    replace('unlink', (path, done) =>
      isOpen(path) ? original.rename(path, hide(path), done) : original.unlink(path, done),
    );
    replace('unlinkSync', (path) =>
      isOpen(path) ? original.renameSync(path, hide(path)) : original.unlinkSync(path),
    );
  },
  macOS: () => {
    /** Names are found in any Unicode form. */
    const found = (path) => {
      const decomposed = String(path).normalize('NFD');
      return decomposed !== String(path) && !statsOf(path) && statsOf(decomposed) ? decomposed : path;
    };
    for (const name of ['lstat', 'lstatSync', 'open', 'openSync'])
      replace(name, (path, ...given) => original[name](found(path), ...given));
  },
};

/** Where MOUNTED names, the system says that an exFAT volume is mounted. */
replace('readFile', (path, ...given) => {
  const done = given.at(-1);
  if (path !== '/proc/self/mountinfo' || process.env.MOUNTED === undefined)
    return original.readFile(path, ...given);
  return done(null, `36 35 8:17 / ${process.env.MOUNTED} rw,noatime shared:1 - fuseblk /dev/sdb1 rw\n`);
});

SYSTEMS[process.env.SYSTEM]();

/** Where UNREADABLE names, the folder cannot be read for the moment. */
const { opendir } = fs;
replace('opendir', (path, ...given) => {
  const isFailing = process.env.UNREADABLE !== undefined && realPath(path) === process.env.UNREADABLE;
  return isFailing ? given.at(-1)(Object.assign(new Error('EIO'), { code: 'EIO' })) : opendir(path, ...given);
});
syncBuiltinESMExports();
