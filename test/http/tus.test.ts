import express from 'express';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRouter, type ConfigInput } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { create, patch } from '../protocol/tus-client.ts';
import { hosts, listening, memoryConfig, quiet, roleByUser, type RunningHost } from './hosts.ts';

const makeConfig = async (): Promise<ConfigInput> => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'stowage-tus-'));
  onTestFinished(() => rm(stateDirectory, { recursive: true, force: true }));
  return { ...memoryConfig, tus: {}, stateDirectory };
};

const uploadTo = async (host: RunningHost, path = '/tus'): Promise<void> => {
  const { url } = host;
  onTestFinished(() => host.close());
  const user = { 'x-user': 'editor' };
  expect((await create(`${url}${path}`, 6, { filename: 'a.txt' })).status).toBe(403);
  const { status, address } = await create(`${url}${path}`, 6, { filename: 'a.txt' }, user);
  expect([status, address]).toEqual([201, expect.stringContaining(`${url}/tus/`)]);
  expect((await patch(address, 0, 'abc', user)).status).toBe(204);
  const { status: end, data } = await patch(address, 3, 'def', user);
  expect([end, data['files']]).toEqual([200, ['a.txt']]);
  const stored = await fetch(`${url}/fileDownload?name=a.txt`, { headers: user });
  expect(await stored.text()).toBe('abcdef');
};

describe('uploads in parts below a mount', () => {
  it.each(Object.entries(hosts))('arrive through %s', async (_, kind) => {
    const hooks = { checkAuthentication: roleByUser(kind) };
    await uploadTo(await kind.start(await makeConfig(), hooks));
  });

  it.each(['/tus', '/tus/'])('arrive behind body parsers and a prefix that nobody cuts: %s', async (path) => {
    const app = express();
    app.use(express.json(), express.urlencoded(), express.raw({ type: '*/*' }));
    const checkAuthentication = ({ headers }: { headers: Readonly<Record<string, string | undefined>> }) =>
      headers['x-user'] ?? 'guest';
    const router = createRouter(await makeConfig(), { checkAuthentication }, quiet);
    app.all('/deep/fb/*rest', (request, response) => void router.handler(request, response));
    await uploadTo(await listening(createServer(app), '/deep/fb'), path);
  });
});
