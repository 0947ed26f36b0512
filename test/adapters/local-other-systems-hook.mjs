// Loaded first, in every thread: the file system behaves as that of another system, which SYSTEM names.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

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

const statsOf = (path) => original.lstatSync(path, { throwIfNoEntry: false });
const isFolder = (path) => statsOf(path)?.isDirectory() === true;
const replacesFolder = (from, to) => isFolder(from) && isFolder(to);

const SYSTEMS = {
  'Linux without /proc': () => {
    for (const name of ['readlinkSync', 'stat', 'lstat', 'open', 'opendir'])
      fail(name, 'ENOENT', (path) => String(path).startsWith('/proc/'));
  },
  'Windows with exFAT': () => {
    Object.defineProperty(process, 'platform', { value: 'win32' });
    fail('fsync', 'EPERM', (fd) => original.fstatSync(fd).isDirectory());
    fail('link', 'EISDIR');
    fail('rename', 'EPERM', replacesFolder);
  },
  'rclone mount': () => {
    fail('link', 'EIO');
    fail('rename', 'EEXIST', replacesFolder);
  },
  'SMB and Docker Desktop': () => {
    for (const name of ['chmod', 'fchmod', 'futimes']) fail(name, 'EPERM');
    // libuv cannot set the rights of the copy, and removes it then.
    replace('copyFile', (_from, to, _mode, done) =>
      original.unlink(to, () => done(Object.assign(new Error('EPERM, copyfile'), { code: 'EPERM' }))),
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

SYSTEMS[process.env.SYSTEM]();
syncBuiltinESMExports();
