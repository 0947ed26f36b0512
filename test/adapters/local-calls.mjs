// What the local adapter asks of the system. Answers with one JSON line.
// Usage: node --import local-calls-hook.mjs local-calls.mjs ROOT SCENARIO
import { readdirSync, readFileSync, mkdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createSilentLogger, openLocalAdapter } from '#internals';
import { SourcePath } from 'stowage/storage';

const [, , root, scenario] = process.argv;
// Not there in scenarios that count nothing.
const calls = globalThis.fileSystemCalls;
const adapter = await openLocalAdapter({ root, log: createSilentLogger() });
const at = (path) => SourcePath.parse(path);
const content = (...parts) =>
  Readable.from(
    parts.map((part) => Buffer.from(part)),
    { objectMode: false },
  );

/** The calls of one operation, with the paths below the root; every temporary name is `TEMP`. */
const callsOf = async (operation) => {
  calls.list.length = 0;
  await operation();
  return calls.list
    .filter(([name]) => name !== 'open' && name !== 'opendir')
    .map(([name, ...paths]) => {
      const short = paths.map((path) => {
        const below = path.slice(root.length + 1);
        if (below.startsWith('.stowage-tmp')) return below.split('/').length > 2 ? 'TEMP' : 'AREA';
        return below === '' ? '.' : below;
      });
      return [name, ...short].join(' ');
    });
};

const flushes = async () => ({
  created: await callsOf(() => adapter.write(at('f/new.txt'), content('new'), { createOnly: true })),
  replaced: await callsOf(() => adapter.write(at('f/new.txt'), content('newer'))),
  big: await callsOf(() => adapter.write(at('f/big.bin'), content(Buffer.alloc(9_000_000, 1)))),
  derived: await callsOf(() => adapter.write(at('f/thumb.jpg'), content('small'), { derived: true })),
  copied: await callsOf(() => adapter.copyFile(at('f/new.txt'), at('f/copy.txt'))),
  movedNew: await callsOf(() => adapter.moveFile(at('f/copy.txt'), at('moved.txt'), { createOnly: true })),
  movedOver: await callsOf(() => adapter.moveFile(at('moved.txt'), at('f/new.txt'))),
  madeFolder: await callsOf(() => adapter.makeFolder(at('f/sub/deep'))),
  movedFolder: await callsOf(() => adapter.moveFolder(at('f/sub'), at('sub'))),
  copiedFolder: await callsOf(() => adapter.copyFolder(at('f'), at('g'))),
});

const openHandles = () => readdirSync('/proc/self/fd').length;

const handles = async () => {
  writeFileSync(join(root, 'a.txt'), 'a');
  writeFileSync(join(root, 'empty.txt'), '');
  const grown = async (operation) => {
    await operation();
    const before = openHandles();
    for (let round = 0; round < 200; round += 1) await operation();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return openHandles() - before;
  };
  const refused = (path, options) => async () => {
    const result = await adapter.read(at(path), options).catch(() => undefined);
    if (result !== undefined) throw new Error('the read was not refused');
  };
  return {
    otherVersion: await grown(refused('a.txt', { ifMatch: '"another version"' })),
    beyondTheEnd: await grown(async () => {
      const result = await adapter.read(at('a.txt'), { range: { start: 5, end: 9 } }).catch(() => undefined);
      result?.stream.destroy();
    }),
    abortedMeanwhile: await grown(async () => {
      const controller = new AbortController();
      const reading = adapter.read(at('a.txt'), { signal: controller.signal });
      controller.abort();
      await reading.then(
        ({ stream }) => stream.on('error', () => undefined),
        () => undefined,
      );
    }),
    folder: await grown(refused('', {})),
    empty: await grown(async () => void (await text((await adapter.read(at('empty.txt'))).stream))),
    emptyUnread: await grown(async () => (await adapter.read(at('empty.txt'))).stream.destroy()),
  };
};

const treeOf = (folder) => readdirSync(folder, { recursive: true }).sort();

/** Aborts an operation at each of its calls in turn. Whatever comes of it, nothing is there by half. */
const abortedAtEachCall = async (operation) => {
  const outcomes = { rejected: 0, resolved: 0, faults: [] };
  const reason = new Error('aborted in the midst');
  for (let number = 1; ; number += 1) {
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    mkdirSync(join(root, 'from/sub'), { recursive: true });
    for (const name of ['a.txt', 'b.txt', 'sub/c.txt']) writeFileSync(join(root, 'from', name), name);
    const whole = treeOf(join(root, 'from'));
    const controller = new AbortController();
    let made = 0;
    let isTaken = false;
    let isLate = false;
    calls.onCall = ([name, path]) => {
      made += 1;
      if (name === 'mkdir' && path === join(root, 'to')) isTaken = true;
      if (made !== number) return;
      isLate = isTaken;
      controller.abort(reason);
    };
    const failure = await operation(controller.signal).then(
      () => undefined,
      (error) => error,
    );
    calls.onCall = undefined;
    if (made < number) return outcomes;
    const left = treeOf(root);
    const [isThere, isSource] = [left.includes('to'), left.includes('from')];
    outcomes[failure === undefined ? 'resolved' : 'rejected'] += 1;
    const fault = (what) => outcomes.faults.push(`${what} when aborted at call ${number}: ${left.join(' ')}`);
    if (failure !== undefined && failure !== reason) fault(`fails with ${failure}`);
    if (failure === undefined && !isLate) fault('the signal is ignored');
    if (failure !== undefined && isThere) fault('appears');
    if (!isThere && !isSource) fault('lost');
    for (const name of ['to', 'from'])
      if (left.includes(name) && treeOf(join(root, name)).join() !== whole.join()) fault(`half of ${name}`);
    // The empty folder of the process stays as long as the store.
    if (left.some((name) => /^\.stowage-tmp\/.*\//.test(name))) fault('leftovers');
  }
};

const aborts = async () => ({
  copyFolder: await abortedAtEachCall((signal) => adapter.copyFolder(at('from'), at('to'), { signal })),
  moveFolder: await abortedAtEachCall((signal) => adapter.moveFolder(at('from'), at('to'), { signal })),
});

const deep = async () => {
  await adapter.removeFolder(at('deep'));
  return {
    left: readdirSync(root).filter((name) => name !== '.stowage-tmp'),
    limit: /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1],
  };
};

/** Network file systems ask again when an answer is lost, and then find nothing to remove. */
const askedTwice = async () => {
  const outcomes = {};
  const withOldNameGone = async (what, call, operation) => {
    calls.onCall = ([name, path]) => {
      if (name === call) {
        calls.onCall = undefined;
        unlinkSync(path);
      }
    };
    outcomes[what] = await operation().then(
      () => 'done',
      (error) => error.code,
    );
  };
  await withOldNameGone('upload', 'unlink', () =>
    adapter.write(at('new.txt'), content('new'), { createOnly: true }),
  );
  writeFileSync(join(root, 'old.txt'), 'old');
  await withOldNameGone('move', 'rename', () =>
    adapter.moveFile(at('old.txt'), at('moved.txt'), { createOnly: true }),
  );
  return { outcomes, left: treeOf(root).filter((name) => !name.startsWith('.')) };
};

/** A full disk has no room for a folder, but for another name of a file. */
const fullDisk = async () => {
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(root, name), name);
  calls.onCall = ([name]) => {
    if (name === 'mkdir') throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  };
  await adapter.moveFile(at('a.txt'), at('moved.txt'), { createOnly: true });
  await adapter.removeFile(at('b.txt'), { ifUnchanged: await adapter.stat(at('b.txt')) });
  return treeOf(root);
};

/** How often a folder is read for names that are not there. */
const missing = async () => {
  writeFileSync(join(root, 'a.txt'), '');
  calls.list.length = 0;
  const absent = Array.from({ length: 20 }, (_, index) => adapter.stat(at(`ä${index}.txt`)));
  const outcomes = await Promise.allSettled(absent);
  return {
    found: outcomes.filter(({ status }) => status === 'fulfilled').length,
    readings: calls.list.filter(([name, path]) => name === 'opendir' && path === root).length,
  };
};

const answer = await { flushes, handles, aborts, deep, askedTwice, fullDisk, missing }[scenario]();
await adapter.close();
process.stdout.write(`${JSON.stringify(answer)}\n`);
