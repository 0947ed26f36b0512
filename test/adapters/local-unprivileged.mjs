// A process without rights of its own on parts of a root. Started as root it gives them up first. Answers with one JSON line.
// Usage: node local-unprivileged.mjs ROOT
import { chmod, mkdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createSilentLogger, openLocalAdapter } from '#internals';
import { SourcePath, copyFolder } from 'stowage/storage';

const NOBODY = 65534;
if (process.getuid() === 0) {
  process.setgroups([]);
  process.setgid(NOBODY);
  process.setuid(NOBODY);
}
const adapter = await openLocalAdapter({ root: process.argv[2], log: createSilentLogger() });
const at = (text) => SourcePath.parse(text);
const content = () => Readable.from([Buffer.from('mine')], { objectMode: false });

const list = async (folder) => {
  const names = [];
  for await (const page of adapter.list(at(folder))) names.push(...page.map((entry) => entry.name));
  return names.sort();
};

const attempts = {
  listsLocked: () => list('locked'),
  listsBelowLocked: () => list('locked/deep'),
  statsLocked: async () => (await adapter.stat(at('locked'))).kind,
  readsLocked: async () => (await adapter.read(at('locked-file.txt'))).stream.destroy(),
  writesIntoLocked: () => adapter.write(at('locked/a.txt'), content()),
  writesIntoReadOnly: () => adapter.write(at('read-only/a.txt'), content()),
  makesInReadOnly: () => adapter.makeFolder(at('read-only/new')),
  removesFromReadOnly: () => adapter.removeFile(at('read-only/kept.txt')),
  copiesLocked: () => copyFolder(adapter, at('with-locked'), at('copy')),
  movesOutOfSealed: () =>
    adapter.moveFile(at('album/2026/may/sealed/kept.txt'), at('kept.txt'), { createOnly: true }),
  removesAlbum: () => adapter.removeFolder(at('album')),
  removesWithLocked: () => adapter.removeFolder(at('with-locked')),
  movesForeignFile: () => adapter.moveFile(at('foreign.txt'), at('moved.txt'), { createOnly: true }),
  movesForeignFileOver: () => adapter.moveFile(at('moved.txt'), at('taken.txt'), { createOnly: true }),
  writesBeside: async () => (await adapter.write(at('beside.txt'), content())).name,
};
const outcomes = {};
for (const [name, attempt] of Object.entries(attempts)) {
  outcomes[name] = await attempt().then(
    (value) => value ?? 'done',
    (error) => error.code,
  );
}
/** A store whose root may only be read, with a folder in it that may be written. */
const inReadOnlyRoot = async () => {
  const root = `${process.argv[2]}/read-only`;
  outcomes.warnings = [];
  const log = { ...createSilentLogger(), warn: (message) => outcomes.warnings.push(message) };
  const store = await openLocalAdapter({ root, log });
  const missing = await openLocalAdapter({ root: `${root}/new/root`, log }).catch((error) => error);
  outcomes.missingRoot = [missing.code, missing.detail];
  await store.write(at('open/new.txt'), content(), { createOnly: true });
  await store.write(at('open/new.txt'), content());
  const taken = await store.write(at('open/new.txt'), content(), { createOnly: true }).then(
    () => 'written',
    (error) => error.code,
  );
  await store.copyFile(at('open/new.txt'), at('open/deep/copy.txt'));
  await store.moveFile(at('open/deep/copy.txt'), at('open/moved.txt'), { createOnly: true });
  await store.copyFolder(at('open/deep'), at('open/twin'));
  await store.copyFolder(at('open'), at('open2')).catch((error) => {
    outcomes.copiesIntoReadOnlyRoot = error.code;
  });
  await store.makeFolder(at('open/sub/sub'));
  await store.removeFolder(at('open/sub'));
  await store.removeFile(at('open/moved.txt'));
  await store.close();
  return taken;
};
/** The root was closed to the process when the store was first opened. */
const opensAgain = async () => {
  const root = `${process.argv[2]}/own`;
  const warnings = [];
  const open = () =>
    openLocalAdapter({ root, log: { ...createSilentLogger(), warn: (message) => warnings.push(message) } });
  await mkdir(root, { mode: 0 });
  const code = await open().then(
    () => 'opened',
    (error) => error.code,
  );
  await chmod(root, 0o700);
  await (await open()).close();
  return [code, ...warnings];
};
outcomes.opensAgain = await opensAgain();
outcomes.inReadOnlyRoot = await inReadOnlyRoot().catch((error) => `failed: ${error.code}`);
outcomes.listsRoot = await list('');
outcomes.listsWithLocked = await list('with-locked');
await adapter.close();
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
