import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import busboy from 'busboy';
import { makeSmaller } from './bare-picture.ts';

/**
 * The minimum that Node can do: stores the files of a form as they arrive, and serves files unchanged. No
 * checks, no naming, no crash safety. `bare-server.ts FOLDER`; with the environment variable SYNC=1 it waits
 * for the disk as the service does, with PICTURES=1 it reads photos into memory and stores them scaled, as
 * many at a time as there are cores. Prints its port.
 */
const [folder = '.'] = process.argv.slice(2);
const waitsForDisk = process.env['SYNC'] === '1';
const makesPictures = process.env['PICTURES'] === '1';

const syncToDisk = async (file: string): Promise<void> => {
  const handle = await open(file, 'r+');
  await handle.sync();
  await handle.close();
};

const cores = Array.from({ length: availableParallelism() }, () => Promise.resolve());
let next = 0;

/** Waits for earlier work on the same core; all work takes about the same time. */
const onCore = (work: () => Promise<void>): Promise<void> => {
  const core = next++ % cores.length;
  const done = (cores[core] ?? Promise.resolve()).then(work);
  cores[core] = done;
  return done;
};

const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const writes: Promise<void>[] = [];
  const form = busboy({ headers: request.headers });
  form.on('file', (_field, stream, { filename }) => {
    if (makesPictures) {
      const photo = buffer(stream);
      writes.push(photo.then((bytes) => onCore(() => makeSmaller(bytes, folder, filename ?? 'unnamed'))));
      return;
    }
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
