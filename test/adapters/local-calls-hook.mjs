// Loaded before anything else: writes down the calls to the file system that change names or flush, in their order, with the
// real path of what they are about. Handles are resolved at the moment of the call.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { readlinkSync } = fs;
const HANDLE = /^\/proc\/self\/fd\/(\d+)/;

const pathOf = (target) => {
  const text = typeof target === 'number' ? `/proc/self/fd/${target}` : String(target);
  const handle = HANDLE.exec(text);
  return handle === null ? text : readlinkSync(handle[0]) + text.slice(handle[0].length);
};

/** `onCall` may be set to learn of each call just before it is made. */
globalThis.fileSystemCalls = { list: [], onCall: undefined };

const count = (name, paths) => {
  const original = fs[name];
  const counted = (...given) => {
    const call = [name, ...given.slice(0, paths).map(pathOf)];
    globalThis.fileSystemCalls.list.push(call);
    globalThis.fileSystemCalls.onCall?.(call);
    return original(...given);
  };
  // With the marks that tell `promisify` what to answer.
  fs[name] = Object.defineProperties(counted, Object.getOwnPropertyDescriptors(original));
};
for (const name of ['open', 'opendir', 'writev', 'fsync', 'fdatasync', 'mkdir', 'unlink', 'rmdir', 'chmod'])
  count(name, 1);
for (const name of ['link', 'rename']) count(name, 2);
syncBuiltinESMExports();
