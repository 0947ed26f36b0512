import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDocumentResources, createRemoteFetcher, createSilentLogger } from '#internals';
import type { ResourceRules } from '../../packages/stowage/dist/documents/documents.js';
import { startSite } from '../network/loopback.ts';
import { door } from './documents.ts';

const MB = 1024 * 1024;

const startLoading = async (
  answer: (response: ServerResponse) => void,
  rules: Partial<ResourceRules>,
): Promise<(path: string, scheme?: string) => Promise<number | undefined>> => {
  const site = await startSite((_request, response) => answer(response));
  onTestFinished(() => site.close());
  const resources = { enabled: true, maxBytes: MB, timeoutMs: 600_000, ...rules };
  const { signal } = new AbortController();
  const loader = createDocumentResources(door(true), { resources, signal }, createSilentLogger());
  const at = site.origin.replace('http:', '');
  return async (path, scheme = 'http:') => (await loader.load(`${scheme}${at}/${path}`, '*/*'))?.bytes.length;
};

describe('what a document loads from outside', () => {
  it('is bounded in all', async () => {
    const large = Buffer.alloc(40 * MB);
    const load = await startLoading((response) => response.end(large), { maxBytes: 50 * MB });
    const sizes = [];
    for (const name of ['a', 'b', 'c', 'd']) sizes.push(await load(name));
    expect(sizes).toEqual([40 * MB, 40 * MB, undefined, undefined]);
  });

  it('may have an address without a scheme, as in PDF files', async () => {
    const load = await startLoading((response) => response.end('content'), {});
    expect(await load('picture', '')).toBe(7);
  });

  it('is loaded however long its page has taken to open', async () => {
    const load = await startLoading((response) => response.end('content'), { timeoutMs: 1500 });
    await pause(1600);
    expect(await load('picture')).toBe(7);
  });

  it('is left out when nothing more comes, before or after the first bytes', async () => {
    const load = await startLoading(() => undefined, { stallMs: 300 });
    expect(await load('silent')).toBe(undefined);
    const begun = await startLoading((response) => void response.write('begun'), { stallMs: 300 });
    expect(await begun('begun')).toBe(undefined);
  });

  it('is not left out because the name of another one cannot be looked up', async () => {
    const site = await startSite((_request, response) => void response.end('content'));
    onTestFinished(() => site.close());
    const silent = new EventTarget();
    const log = createSilentLogger();
    const fetcher = createRemoteFetcher({
      log,
      resolve: async (name) => {
        if (name === 'silent.example') await once(silent, 'end');
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const remote = {
      fetch: (url: string, options: Parameters<typeof fetcher.fetch>[1]) =>
        fetcher.fetch(url, { ...options, allowPrivate: true }),
    };
    const resources = { enabled: true, maxBytes: MB, timeoutMs: 600_000, stallMs: 300 };
    const { signal } = new AbortController();
    const loader = createDocumentResources(remote, { resources, signal }, log);
    const { port } = new URL(site.origin);
    const [first, ...others] = ['silent', 'one', 'two'].map((name) =>
      loader.load(`http://${name}.example:${port}/`, '*/*'),
    );
    expect(await first).toBe(undefined);
    await pause(300);
    silent.dispatchEvent(new Event('end'));
    const loaded = await Promise.all(others);
    expect(loaded.map((one) => one?.bytes.toString())).toEqual(['content', 'content']);
  });

  it('may be slow as long as it goes on', async () => {
    const drip = async (response: ServerResponse): Promise<void> => {
      for (let sent = 0; sent < 30; sent += 1) {
        response.write('x');
        await pause(100);
      }
      response.end();
      await once(response, 'close');
    };
    const load = await startLoading((response) => void drip(response), { stallMs: 2000 });
    expect(await load('dripping')).toBe(30);
  });
});
