import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolder, runToEnd, start, type Ending, type Folder } from './service.ts';

let folder: Folder;
let root: string;

beforeEach(async () => {
  folder = await createFolder();
  root = join(folder.path, 'photos');
  await mkdir(join(root, 'trip'), { recursive: true });
});

afterEach(() => folder.remove());

const putPictures = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) await writeFile(join(root, name), name);
};

/** A module with this hook, and `tell`, which appends a line to a file. */
const withHook = async (hook: string): Promise<string> => {
  const file = join(folder.path, 'stowage.mjs');
  const sources = { photos: { title: 'Photos', root, serve: 'public' } };
  await writeFile(
    file,
    `import { appendFileSync } from 'node:fs';
     const tell = (line) => appendFileSync(${JSON.stringify(join(folder.path, 'told'))}, line + '\\n');
     const audit = { file: ${JSON.stringify(join(folder.path, 'audit'))} };
     export default { config: { audit, sources: ${JSON.stringify(sources)} }, hooks: { describePicture: ${hook} } };`,
  );
  return file;
};

const told = async (name: string): Promise<readonly string[]> =>
  (await readFile(join(folder.path, name), 'utf8').catch(() => '')).split('\n').filter(Boolean).sort();

const run = (config: string, ...words: readonly string[]): Promise<Ending> =>
  runToEnd(['describe', ...words, '--config', config]);

const ALL = '({ name, about }) => { tell(name + JSON.stringify(about)); return { alt: "About " + name }; }';

describe('stowage describe', () => {
  it('describes what has no alternative text, and nothing the second time', async () => {
    await putPictures('a.jpg', 'note.txt', 'trip/b.png', 'trip/c.png');
    const config = await withHook(ALL);
    expect(await run(config, 'photos', 'trip')).toMatchObject({
      status: 0,
      stdout: '2 described, 0 had a text, 0 got none.\n',
      stderr: '',
    });
    expect((await run(config, 'photos')).stdout).toBe('1 described, 2 had a text, 0 got none.\n');
    expect((await run(config, 'photos')).stdout).toBe('0 described, 3 had a text, 0 got none.\n');
    expect(await told('told')).toEqual(['a.jpg{}', 'b.png{}', 'c.png{}']);
    const events = (await told('audit')).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.map(({ path }) => path).sort()).toEqual(['a.jpg', 'trip/b.png', 'trip/c.png']);
    expect(events[0]).toMatchObject({ type: 'file.described', subject: 'describePicture' });
  });

  it('names those that fail, and goes on', async () => {
    await putPictures('a.jpg', 'b.jpg', 'c.jpg');
    const config = await withHook(
      '({ name }) => { if (name === "a.jpg") throw new Error("Too dark."); if (name === "b.jpg") return { alt: "B" }; }',
    );
    expect(await run(config, 'photos')).toMatchObject({
      status: 1,
      stdout: '1 described, 0 had a text, 1 got none, 1 could not be described.\n',
      stderr: 'could not be described: a.jpg: Too dark.\n',
    });
  });

  it('ends where everything fails', async () => {
    await putPictures(...Array.from({ length: 30 }, (_, count) => `${String(count)}.jpg`));
    const { status, stderr } = await run(
      await withHook('({ name }) => { tell(name); throw new Error("No."); }'),
      'photos',
    );
    expect(status).toBe(1);
    expect(stderr).toContain('10 in a row failed (');
    expect((await told('told')).length).toBeLessThan(15);
  });

  it('ends when it is asked to, and goes on when it runs again', async () => {
    await putPictures('a.jpg', 'b.jpg', 'c.jpg', 'd.jpg');
    const waiting = await withHook(
      '({ name }) => name < "c" ? { alt: "A" } : (console.error("waits"), new Promise(() => {}))',
    );
    const process = start(['describe', 'photos', '--config', waiting]);
    await process.said(/waits/u);
    process.child.kill('SIGINT');
    const { status, stdout } = await process.ended;
    expect(status).toBe(130);
    const done = Number(/^Stopped\. (\d) described, .* Run it again to continue\.\n$/u.exec(stdout)?.[1]);
    expect((await run(await withHook(ALL), 'photos')).stdout).toBe(
      `${String(4 - done)} described, ${String(done)} had a text, 0 got none.\n`,
    );
  });

  it.each([
    [['nothing'], 2, 'Unknown source: nothing (known: photos)\nTry: stowage --help\n'],
    [[], 2, 'describe needs the name of a source.\nTry: stowage --help\n'],
    [['photos', 'nowhere'], 1, 'There is no folder "nowhere" in photos.\n'],
  ])('says why not: %j', async (words, status, stderr) => {
    expect(await run(await withHook(ALL), ...words)).toMatchObject({ status, stderr });
  });

  it('needs the hook', async () => {
    const { status, stderr } = await run(await withHook('undefined'), 'photos');
    expect([status, stderr]).toEqual([1, expect.stringContaining('describe needs the hook describePicture')]);
  });
});
