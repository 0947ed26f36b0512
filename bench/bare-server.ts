import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';

/**
 * The least that Node can do: a form's files go to disk as they come, a file on disk goes out as it is. No
 * checks, no names of its own, nothing that survives a crash. `bare-server.ts FOLDER`; the environment's
 * SYNC=1 makes it wait for the disk as the service does. Prints its port.
 */
const [folder = '.'] = process.argv.slice(2);
const waitsForDisk = process.env['SYNC'] === '1';

const syncToDisk = async (file: string): Promise<void> => {
  const handle = await open(file, 'r+');
  await handle.sync();
  await handle.close();
};

const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const writes: Promise<void>[] = [];
  const form = busboy({ headers: request.headers });
  form.on('file', (_field, stream, { filename }) => {
    const file = path.join(folder, path.basename(filename ?? 'unnamed'));
    writes.push(
      pipeline(stream, createWriteStream(file)).then(() => (waitsForDisk ? syncToDisk(file) : undefined)),
    );
  });
  await pipeline(request, form);
  await Promise.all(writes);
  response.end('{}');
};

const send = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  await pipeline(createReadStream(path.join(folder, path.basename(request.url ?? ''))), response);
};

const server = createServer((request, response) => {
  const answer = request.method === 'POST' ? receive : send;
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port);
});
