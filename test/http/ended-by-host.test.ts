import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer as createPlainServer, get as getPlainly } from 'node:http';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import express from 'express';
import { createRouter, type Logger } from 'stowage';
import { expect, it, onTestFinished } from 'vitest';
import { makeCertificate, opensslMissing } from '../../tools/test-servers/tls-front.ts';
import { quiet } from './hosts.ts';

const FILES = 200;
const BYTES = 200_000;

// An error of the response that nobody listens for would end the process: the run fails by it.
it.skipIf(opensslMissing)('lets a host end a download that takes too long (needs openssl)', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-ended-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await mkdir(join(root, 'folder'));
  for (let index = 0; index < FILES; index += 1)
    await writeFile(join(root, 'folder', `${String(index)}.txt`), Buffer.alloc(BYTES));
  const accessControl = [{ role: '*', FILES: true, FILE_DOWNLOAD: true }];
  const sources = { local: { root, title: 'Files', baseurl: 'http://files.test/', extensions: ['txt'] } };
  const router = createRouter({ sources, accessControl }, {}, quiet);
  onTestFinished(() => router.close());

  let handled: Promise<void> | undefined;
  let end: (() => void) | undefined;
  const server = createServer(await makeCertificate(), (request, response) => {
    end = () => void response.end();
    handled = router.handler(request, response);
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${String(port)}/fileDownload?names[0]=folder`;
  const [answer] = (await once(get(url, { rejectUnauthorized: false }), 'response')) as [IncomingMessage];
  // The client takes nothing: the archive waits for it when the host ends the answer.
  await wait(300);
  end?.();
  await wait(50);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) bytes += chunk.length;
  await handled;
  expect(answer.statusCode).toBe(200);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(FILES * BYTES);
});

it('does nothing for a request that the host has answered', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-ended-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const sources = { local: { root, title: 'Files', baseurl: 'http://files.test/' } };
  const router = createRouter({ sources }, {}, quiet);
  onTestFinished(() => router.close());
  let isLoggedIn = false;
  const app = express();
  app.use((_request, response, next) => {
    // The return that is missing here is a common mistake.
    if (!isLoggedIn) response.status(401).send('Please log in.');
    next();
  });
  app.use(router.handler);
  const server = createPlainServer(app);
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const answer = await fetch(`${url}/folderCreate?name=refused`);
  expect([answer.status, await answer.text()]).toEqual([401, 'Please log in.']);
  isLoggedIn = true;
  expect((await fetch(`${url}/folderCreate?name=allowed`)).status).toBe(200);
  expect((await readdir(root)).filter((name) => !name.startsWith('.'))).toEqual(['allowed']);
});

it('sends a file without a warning of a leak where the host itself waits for the end of a response', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-ended-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'a.txt'), Buffer.alloc(BYTES));
  const sources = { local: { root, title: 'Files', baseurl: 'http://files.test/' } };
  const router = createRouter({ sources }, {}, quiet);
  onTestFinished(() => router.close());
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const server = createPlainServer((request, response) => {
    // Hapi and h3 have some of these.
    for (let count = 0; count < 4; count += 1) response.once('close', () => undefined);
    void router.handler(request, response);
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${String(port)}/fileDownload?name=a.txt`);
  expect((await answer.arrayBuffer()).byteLength).toBe(BYTES);
  expect(warnings).toEqual([]);
});

it('logs that the host has ended a response', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-ended-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'a.txt'), Buffer.alloc(FILES * BYTES));
  const sources = { local: { root, title: 'Files', baseurl: 'http://files.test/' } };
  const logged = new Promise<unknown>((resolve) => {
    const error: Logger['error'] = (_, fields) => resolve(fields?.['error']);
    const router = createRouter({ sources }, {}, { logger: { ...quiet.logger, error } });
    onTestFinished(() => router.close());
    const server = createPlainServer((request, response) => {
      void router.handler(request, response);
      response.once('drain', () => response.end());
    });
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      getPlainly({ port, path: '/fileDownload?name=a.txt', agent: false }, (answer) => {
        answer.on('error', () => undefined).resume();
      });
    });
  });
  expect(await logged).toMatchObject({ message: 'the host has ended the response' });
});
