import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolder, start, type Folder } from './service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

const check = async (name: string, code: string, environment: Record<string, string> = {}) => {
  await writeFile(join(folder.path, name), code);
  return start(['check-config', '--config', name], environment, folder.path).ended;
};

describe('a command ends', () => {
  it.each([
    [
      'a port that listens',
      `import { MessageChannel } from 'node:worker_threads';
       new MessageChannel().port1.on('message', () => undefined);`,
    ],
    [
      'a thread that runs',
      `import { Worker } from 'node:worker_threads';
       new Worker('for (;;);', { eval: true });`,
    ],
    ['a timer', 'setInterval(() => undefined, 1000);'],
  ])('with its status where the configuration keeps %s', async (name, code) => {
    const file = `${name.replaceAll(' ', '-')}.mjs`;
    expect(await check(file, `${code}\nexport default { sources: {} };`)).toMatchObject({
      status: 0,
      signal: null,
    });
  });

  it.skipIf(process.platform === 'win32')(
    'where the disk of a source hangs (there are no named pipes on Windows)',
    async () => {
      const pipe = join(folder.path, 'pipe');
      await promisify(execFile)('mkfifo', [pipe]);
      const code = `import { open } from 'node:fs/promises';
        const a = { title: 'A', root: ${JSON.stringify(`${folder.path}/files`)}, get serve() { return open(${JSON.stringify(pipe)}) && 'public' } };
        export default { sources: { a } };`;
      // One thread for all files: once the configuration is read, each call of the file system waits for the pipe.
      const { stdout, stderr, status, signal } = await check('hanging.mjs', code, {
        UV_THREADPOOL_SIZE: '1',
      });
      expect(stdout).toContain('The configuration is valid.\n');
      expect(stderr).toBe('A disk of the sources hangs: stowage doctor says which.\n');
      const canReplace = typeof Reflect.get(process, 'execve') === 'function';
      expect([status, signal]).toEqual(canReplace ? [0, null] : [null, 'SIGTERM']);
    },
  );
});
