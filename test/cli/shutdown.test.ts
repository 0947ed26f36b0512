import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolder, portOf, start, type Folder, type Process } from './service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

const startService = async (): Promise<{ service: Process; port: number }> => {
  const config = await folder.config({
    extensions: ['bin'],
    maxUploadFileSize: '64mb',
    sources: { data: { title: 'Data', root: folder.path, baseurl: 'https://cdn.example.com/' } },
  });
  const service = start(['serve', '--config', config, '--port', '0']);
  return { service, port: await portOf(service) };
};

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

/** Resolves when connecting is refused. */
const isRefused = async (port: number): Promise<boolean> => {
  for (let attempt = 0; attempt < 500; attempt++) {
    const outcome = await open(port).then(
      (socket) => socket.destroy(),
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (outcome === 'ECONNREFUSED') return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
};

const readAll = async (socket: Socket): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const upload = (name: string, content: Buffer): { head: string; body: Buffer } => {
  const boundary = 'a-boundary-of-this-test';
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="files[0]"; filename="${name}"\r\n\r\n`,
    ),
    content,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const head =
    'POST /fileUpload HTTP/1.1\r\nHost: localhost\r\n' +
    `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
  return { head, body };
};

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets a running upload finish, refuses new connections, and ends with 0', async () => {
    const { service, port } = await startService();
    const content = randomBytes(300_000);
    const { head, body } = upload(`slow-${signal}.bin`, content);
    const socket = await open(port);
    socket.write(head);
    socket.write(body.subarray(0, 100_000));
    // An answer on a second connection shows that the first request has been taken up.
    await fetch(`http://127.0.0.1:${String(port)}/ping`, { headers: { connection: 'close' } });

    service.child.kill(signal);
    await service.said(/Stopping/u);
    expect(await isRefused(port)).toBe(true);
    socket.write(body.subarray(100_000));
    const answer = (await readAll(socket)).toString();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /u);
    expect(answer).toContain('"success":true');
    expect(await service.ended).toMatchObject({ status: 0, signal: null });
    const stored = await readFile(join(folder.path, `slow-${signal}.bin`));
    expect(stored.equals(content)).toBe(true);
  });

  it('lets a running download finish', async () => {
    const content = randomBytes(24 * 1024 * 1024);
    await writeFile(join(folder.path, 'large.bin'), content);
    const { service, port } = await startService();
    const socket = await open(port);
    socket.write('GET /fileDownload?name=large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n');
    // The first bytes are here; the rest is more than the buffers in between can hold.
    await once(socket, 'readable');

    service.child.kill(signal);
    await service.said(/Stopping/u);
    expect(await isRefused(port)).toBe(true);
    const answer = await readAll(socket);
    const body = answer.subarray(answer.indexOf('\r\n\r\n') + 4);
    expect(body.equals(content)).toBe(true);
    expect(await service.ended).toMatchObject({ status: 0, signal: null });
  });
});

describe('a stopping service', () => {
  it('closes idle connections at once', async () => {
    const { service, port } = await startService();
    const socket = await open(port);
    socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    service.child.kill('SIGTERM');
    await once(socket, 'close');
    expect((await service.ended).status).toBe(0);
  });

  it('takes a signal that npm passes on for the one that the terminal has sent to both', async () => {
    const { service, port } = await startService();
    const content = randomBytes(300_000);
    const { head, body } = upload('twice.bin', content);
    const socket = await open(port);
    socket.write(head);
    socket.write(body.subarray(0, 200_000));
    await fetch(`http://127.0.0.1:${String(port)}/ping`, { headers: { connection: 'close' } });
    service.child.kill('SIGINT');
    await service.said(/Stopping/u);
    service.child.kill('SIGINT');
    socket.write(body.subarray(200_000));
    expect((await readAll(socket)).toString()).toMatch(/^HTTP\/1\.1 200 /u);
    expect((await service.ended).status).toBe(0);
    expect(await readFile(join(folder.path, 'twice.bin'))).toEqual(content);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends immediately with a later signal: %s', async (signal) => {
    const { service, port } = await startService();
    const { head, body } = upload(`cut-${signal}.bin`, randomBytes(300_000));
    const socket = await open(port);
    socket.on('error', () => undefined);
    socket.write(head);
    socket.write(body.subarray(0, 100_000));
    await fetch(`http://127.0.0.1:${String(port)}/ping`, { headers: { connection: 'close' } });
    service.child.kill(signal);
    await service.said(/Stopping/u);
    const again = setInterval(() => service.child.kill(signal), 100);
    const ended = await service.ended;
    clearInterval(again);
    expect(ended.signal).toBe(signal);
    socket.destroy();
    await expect(readFile(join(folder.path, `cut-${signal}.bin`))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.skipIf(process.platform === 'win32')(
    'ends although a thread hangs at a file (there are no named pipes on Windows)',
    async () => {
      const pipe = join(folder.path, 'pipe');
      await promisify(execFile)('mkfifo', [pipe]);
      const config = join(folder.path, 'hanging.mjs');
      const code = `import { open } from 'node:fs/promises';
        open(${JSON.stringify(pipe)});
        export default { sources: {} };`;
      await writeFile(config, code);
      const service = start(['serve', '--config', config, '--port', '0']);
      await portOf(service);
      service.child.kill('SIGTERM');
      const canReplace = typeof Reflect.get(process, 'execve') === 'function';
      expect(await service.ended).toMatchObject({
        ...(canReplace ? { status: 0 } : { signal: 'SIGTERM' }),
        stderr: expect.stringContaining('Stopped.') as string,
      });
    },
  );
});
