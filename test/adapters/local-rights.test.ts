import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcessMark } from '#internals';

const NOBODY = 65534;
const SEALED = 'album/2026/may/sealed';
const ALBUM = ['album', 'album/2026', 'album/2026/may', SEALED];
const isAdministrator = process.getuid?.() === 0;

/** Folders as processes make them in the system's folder for temporary files, with something in them. */
const plantTemporary = async (folder: string, names: readonly string[]): Promise<void> => {
  for (const path of [folder, ...names.map((name) => join(folder, name))]) {
    await mkdir(path, { mode: 0o700 });
    if (path !== folder) await writeFile(join(path, 'staged'), 'of a user');
    if (isAdministrator) await chown(path, NOBODY, NOBODY);
  }
};

describe.skipIf(process.platform === 'win32')('a process without all rights (needs POSIX modes)', () => {
  let root: string;
  let temporary: string;
  let remaining: readonly string[];
  let outcomes: Record<string, unknown>;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'stowage-rights-'));
    for (const folder of ['locked/deep', 'read-only/open', 'with-locked/sealed', 'album/2026/may/sealed'])
      await mkdir(join(root, folder), { recursive: true });
    const files = [
      'locked-file.txt',
      'read-only/kept.txt',
      'with-locked/sealed/kept.txt',
      'album/2026/may/sealed/kept.txt',
      'album/2026/may/other.txt',
      'foreign.txt',
      'taken.txt',
    ];
    for (const file of files) await writeFile(join(root, file), `content of ${file}`);
    if (isAdministrator) {
      // What is to be the process's own; the rest stays the administrator's.
      for (const own of ['', 'with-locked', 'taken.txt', 'read-only/open', ...ALBUM, `${SEALED}/kept.txt`])
        await chown(join(root, own), NOBODY, NOBODY);
    }
    await chmod(join(root, 'locked'), 0);
    await chmod(join(root, 'locked-file.txt'), 0);
    await chmod(join(root, 'with-locked/sealed'), 0);
    await chmod(join(root, 'read-only'), 0o555);
    await chmod(join(root, 'album/2026/may/sealed'), 0o555);
    const script = fileURLToPath(new URL('local-unprivileged.mjs', import.meta.url));
    temporary = `${root}-temporary`;
    const living = await readProcessMark();
    // The last number is when the process began: it was another one with the same id.
    const killed = `stowage-area-${living.replace(/\d+$/u, '1')}-abcdef`;
    remaining = [`stowage-area-${living}-abcdef`, 'stowage-area-of-others', 'stowage-abcdef'];
    await plantTemporary(temporary, [killed, ...remaining]);
    const env = { ...process.env, TMPDIR: temporary };
    const { stdout } = await promisify(execFile)(process.execPath, [script, root], { env });
    outcomes = JSON.parse(stdout) as Record<string, unknown>;
  });

  afterAll(async () => {
    for (const folder of ['locked', 'with-locked/sealed', 'read-only', 'album/2026/may/sealed'])
      await chmod(join(root, folder), 0o777).catch(() => undefined);
    await Promise.all([root, temporary].map((folder) => rm(folder, { recursive: true, force: true })));
  });

  it('is told by an error of the store what it must not, never by one of the system', () => {
    expect(outcomes).toMatchObject({
      listsLocked: 'STORAGE_DENIED',
      listsBelowLocked: 'STORAGE_DENIED',
      readsLocked: 'STORAGE_DENIED',
      writesIntoLocked: 'STORAGE_DENIED',
      writesIntoReadOnly: 'STORAGE_DENIED',
      makesInReadOnly: 'STORAGE_DENIED',
      removesFromReadOnly: 'STORAGE_DENIED',
      copiesLocked: 'STORAGE_DENIED',
      movesOutOfSealed: 'STORAGE_DENIED',
      removesWithLocked: 'STORAGE_DENIED',
    });
  });

  it('sees and does all else beside them', () => {
    expect(outcomes).toMatchObject({ statsLocked: 'folder', writesBeside: 'beside.txt' });
    const others = ['album', 'locked', 'locked-file.txt', 'own', 'read-only', 'taken.txt', 'with-locked'];
    expect(outcomes['listsRoot']).toEqual(['beside.txt', 'moved.txt', ...others].sort());
  });

  it('does everything in a folder of its own below a root that it may only read', async () => {
    expect(outcomes).toMatchObject({
      inReadOnlyRoot: 'ALREADY_EXISTS',
      copiesIntoReadOnlyRoot: 'STORAGE_DENIED',
    });
    const left = await readdir(join(root, 'read-only'), { recursive: true });
    expect(left.sort()).toEqual(['kept.txt', 'open', 'open/deep', 'open/new.txt', 'open/twin']);
    expect(await readFile(join(root, 'read-only/open/new.txt'), 'utf8')).toBe('mine');
  });

  it('says whose a root is that it may not write or make, and the command that changes it', () => {
    const user = String(isAdministrator ? NOBODY : process.getuid?.());
    const owner = String(process.getuid?.());
    const folder = join(root, 'read-only');
    const begin = `The folder ${folder} belongs to user ${owner}, and this process, user ${user}, may not`;
    const missing = join(folder, 'new/root');
    expect(outcomes).toMatchObject({
      warnings: [`${begin} write to it. To allow it: chown -R ${user} ${folder}`],
      missingRoot: [
        'STORAGE_DENIED',
        `${begin} make ${missing}. To allow it: mkdir -p ${missing} && chown ${user} ${missing}`,
      ],
    });
  });

  it('opens a root through handles, or not at all while the process may not enter it', () => {
    const user = String(isAdministrator ? NOBODY : process.getuid?.());
    const folder = join(root, 'own');
    const warning = `The folder ${folder} belongs to user ${user}, and this process, user ${user}, may not write to it. To allow it: chmod u+rwx ${folder}`;
    expect(outcomes['opensAgain']).toEqual(['STORAGE_DENIED', warning]);
  });

  it('removes what a killed process has left among the temporary files of the system, and nothing else', async () => {
    const left = await readdir(temporary, { recursive: true });
    expect(left.sort()).toEqual(remaining.flatMap((name) => [name, join(name, 'staged')]).sort());
  });

  it('moves a file that it must not link to, and still takes no name that is taken', async () => {
    expect(outcomes).toMatchObject({ movesForeignFile: 'done', movesForeignFileOver: 'ALREADY_EXISTS' });
    expect(await readFile(join(root, 'moved.txt'), 'utf8')).toBe('content of foreign.txt');
    expect(await readFile(join(root, 'taken.txt'), 'utf8')).toBe('content of taken.txt');
  });

  it('puts sub-folders back to where they were when something deep in them resists', async () => {
    expect(outcomes).toMatchObject({ removesAlbum: 'STORAGE_DENIED' });
    const left = await readdir(join(root, 'album'), { recursive: true });
    expect(left.sort()).toEqual(['2026', '2026/may', '2026/may/sealed', '2026/may/sealed/kept.txt']);
  });

  it('leaves a folder where it was when it cannot remove all of it, and no half copy', async () => {
    expect(outcomes['listsWithLocked']).toEqual(['sealed']);
    await chmod(join(root, 'with-locked/sealed'), 0o777);
    expect(await readFile(join(root, 'with-locked/sealed/kept.txt'), 'utf8')).toBe(
      'content of with-locked/sealed/kept.txt',
    );
    expect((await readdir(root)).filter((name) => name.startsWith('.stowage') || name === 'copy')).toEqual(
      [],
    );
  });
});
