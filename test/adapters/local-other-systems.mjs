// What the local adapter does not keep of its contract on another system. Answers with one JSON line.
// Usage: SYSTEM=... node --import local-other-systems-hook.mjs local-other-systems.mjs FOLDER HANDLES THEME...
import { mkdtemp, rm, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createApp } from 'stowage';
import { createSilentLogger, openLocalAdapter } from '#internals';
import { SourcePath } from 'stowage/storage';
import { storageConformance } from 'stowage/testing';

const [, , base, handles, ...themes] = process.argv;
const at = (path) => SourcePath.parse(path);
const confinement = handles === 'handles' ? undefined : 'paths';

const open = async () => {
  const root = await mkdtemp(join(base, 'root-'));
  const another = () => openLocalAdapter({ root, log: createSilentLogger(), confinement });
  return { root, adapter: await another(), another, cleanup: () => rm(root, { recursive: true }) };
};

const namesIn = async (adapter, folder) => {
  const names = [];
  for await (const page of adapter.list(at(folder))) names.push(...page.map(({ name }) => name));
  return names.sort();
};

const failed = [];
const check = async (name, work) => {
  await work().catch((error) => failed.push(`${name}: ${String(error)} ${String(error.cause ?? '')}`));
};

for (const { theme, name, skipReason, run } of storageConformance({ open }))
  if (skipReason === undefined && themes.includes(theme)) await check(`${theme}: ${name}`, run);

const { adapter, root, another, cleanup } = await open();
await check('rules ignore letter case where a volume below the root may ignore it', async () => {
  process.env.MOUNTED = join(root, 'volume');
  const store = await another();
  delete process.env.MOUNTED;
  await store.close();
  if (store.capabilities.caseSensitive) throw new Error('case-sensitive');
});
await check('words about files stay when such a volume is mounted', async () => {
  const described = await mkdtemp(join(base, 'words-'));
  await writeFile(join(described, 'cat.txt'), '');
  const ask = async (query) => {
    const app = createApp({ sources: { files: { title: 'Files', root: described, serve: 'public' } } });
    const answer = await app.fetch(new Request(`http://localhost/${query}`));
    await app.close();
    return answer.text();
  };
  await ask('fileDescribe?name=cat.txt&alt=A+cat');
  process.env.MOUNTED = join(described, 'volume');
  const listed = await ask('files?mods[details]=1');
  delete process.env.MOUNTED;
  await rm(described, { recursive: true });
  if (!listed.includes('A cat')) throw new Error(listed);
});
await check('a large file is copied', async () => {
  await writeFile(join(root, 'big.txt'), 'x'.repeat(2_000_000));
  await adapter.copyFile(at('big.txt'), at('copy.txt'), { createOnly: true });
  if ((await text((await adapter.read(at('copy.txt'))).stream)).length !== 2_000_000)
    throw new Error('short');
});
await check('decomposed names are listed, in a small folder and in a big one', async () => {
  for (const others of [0, 100]) {
    await adapter.makeFolder(at(`f${String(others)}`));
    const names = Array.from({ length: others }, (_, index) => `${String(index)}.txt`);
    for (const name of [...names, 'cafe\u0301.txt'])
      await writeFile(join(root, `f${String(others)}`, name), '');
    const listed = await namesIn(adapter, `f${String(others)}`);
    if (listed.length !== others + 1 || !listed.includes('caf\u00e9.txt')) throw new Error(listed.join());
    const { files } = await adapter.tally(at(`f${String(others)}`), { of: 'sizes' });
    if (files !== others + 1) throw new Error(`${String(files)} files`);
  }
});
await check('names that are not text are left out, in a small folder and in a big one', async () => {
  for (const others of [1, 100]) {
    await adapter.makeFolder(at(`n${String(others)}`));
    const names = Array.from({ length: others }, (_, index) => `${String(index)}.txt`);
    for (const name of [...names, 'é.txt']) await writeFile(join(root, `n${String(others)}`, name), '');
    await writeFile(Buffer.from(`${root}/n${String(others)}/caf\xe9.txt`, 'latin1'), '');
    const listed = await namesIn(adapter, `n${String(others)}`);
    if (new Set(listed).size !== others + 1) throw new Error(listed.join());
    const { files } = await adapter.tally(at(`n${String(others)}`), { of: 'sizes' });
    if (files !== others + 1) throw new Error(`${String(files)} files`);
    await adapter.removeFolder(at(`n${String(others)}`));
  }
});
await check('a damaged file does not hide the others, in a small folder and in a big one', async () => {
  for (const others of [1, 100]) {
    const folder = `d${String(others)}`;
    await adapter.makeFolder(at(folder));
    const names = Array.from({ length: others }, (_, index) => `${String(index)}.txt`);
    for (const name of [...names, 'damaged.txt']) await writeFile(join(root, folder, name), '');
    const listed = await namesIn(adapter, folder);
    if (!names.every((name) => listed.includes(name))) throw new Error(listed.join());
    await unlink(join(root, folder, 'damaged.txt'));
  }
});
await check('a half composed name is found again after its folder could not be read', async () => {
  const folder = join(root, 'unread');
  await adapter.makeFolder(at('unread'));
  await writeFile(join(folder, 'caf\u00e9 u\u0308.txt'), '');
  // What has been read of a folder is kept while it does not change.
  await utimes(folder, 1, 1);
  process.env.UNREADABLE = folder;
  await adapter.stat(at('unread/caf\u00e9 \u00fc.txt')).catch(() => undefined);
  delete process.env.UNREADABLE;
  await adapter.stat(at('unread/caf\u00e9 \u00fc.txt'));
});
await check('a folder is removed while a file in it is read', async () => {
  for (const others of [1, 100]) {
    await adapter.makeFolder(at('read/sub'));
    for (let number = 0; number < others; number += 1)
      await writeFile(join(root, `read/${String(number)}.txt`), 'x'.repeat(200_000));
    const { stream } = await adapter.read(at('read/0.txt'));
    await adapter.removeFolder(at('read'));
    stream.destroy();
    if ((await namesIn(adapter, '')).includes('read')) throw new Error('it is still there');
  }
});
await check('a file is replaced when its reader has closed it', async () => {
  const write = (content) => adapter.write(at('read.txt'), Readable.from([content]), { createOnly: false });
  await write('before');
  const { stream } = await adapter.read(at('read.txt'));
  const replaced = write('after').catch((error) => error);
  setTimeout(() => stream.destroy(), 50);
  const error = await replaced;
  if (error instanceof Error) throw error;
  if ((await text((await adapter.read(at('read.txt'))).stream)) !== 'after') throw new Error('not replaced');
});
await check('no name with a colon is taken on NTFS, where it is a part of another entry', async () => {
  const outcome = await adapter.makeFolder(at('f0:part')).then(() => 'made', String);
  if (outcome.includes('made') === (process.platform === 'win32')) throw new Error(outcome);
});
await adapter.close();
await cleanup();
process.stdout.write(JSON.stringify(failed));
