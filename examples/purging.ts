import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceEvent } from 'stowage';

/** Removes these links from a cache; one with a slash at its end stands for all links that begin with it. */
type Purge = (links: readonly string[]) => Promise<void>;

const isFolder = (link: string): boolean => link.endsWith('/');
const withoutScheme = (link: string): string => link.replace(/^https?:\/\//u, '');

/** For `onEvent`: purges the changes of two seconds in one call, at most `most` links. Failed calls are repeated. */
export const purging = (purge: Purge, { most, origin }: { most: number; origin: string }) => {
  const waiting = new Set<string>();
  let isRunning = false;
  const run = async (): Promise<void> => {
    while (waiting.size > 0) {
      await delay(2000);
      const links = [...waiting].slice(0, most);
      for (const link of links) waiting.delete(link);
      try {
        await purge(links);
      } catch (error) {
        console.error('The cache was not purged; it is tried again.', error);
        for (const link of links) waiting.add(link);
      }
    }
    isRunning = false;
  };
  return ({ links = [], oldLinks = [] }: ServiceEvent): void => {
    for (const link of [...links, ...oldLinks]) waiting.add(new URL(link, origin).href);
    if (isRunning) return;
    isRunning = true;
    void run();
  };
};

const isGenuine = ({ headers }: IncomingMessage, body: string, secret: string): boolean => {
  const time = String(headers['x-stowage-timestamp']);
  const expected = Buffer.from(
    `sha256=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`,
  );
  // Several while the secret is changed.
  const signatures = String(headers['x-stowage-signature'])
    .split(', ')
    .map((one) => Buffer.from(one));
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  return (
    isRecent && signatures.some((sent) => sent.length === expected.length && timingSafeEqual(sent, expected))
  );
};

/** For `createServer`: a receiver of a webhook with `batch`. Failed deliveries are repeated. */
export const purgeReceiver =
  (purge: Purge, { most, origin, secret }: { most: number; origin: string; secret: string }) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const body = await text(request);
      if (!isGenuine(request, body, secret)) return void response.writeHead(401).end();
      const { events } = JSON.parse(body) as { events: ServiceEvent[] };
      const all = events.flatMap(({ links = [], oldLinks = [] }) => [...links, ...oldLinks]);
      const links = [...new Set(all.map((link) => new URL(link, origin).href))];
      for (let start = 0; start < links.length; start += most) await purge(links.slice(start, start + most));
      response.writeHead(204).end();
    } catch (error) {
      console.error('The cache was not purged; it is tried again.', error);
      response.writeHead(503).end();
    }
  };

/** Removes files from an nginx cache with `levels=1:2` and `proxy_cache_key $uri`; for a folder, all files. */
export const nginxPurge =
  (cache: string): Purge =>
  async (links) => {
    const fileOf = (link: string): string => {
      const uri = decodeURIComponent(new URL(link).pathname);
      const key = createHash('md5').update(uri).digest('hex');
      return join(key.slice(-1), key.slice(-3, -1), key);
    };
    const paths = links.some(isFolder) ? await readdir(cache) : links.map(fileOf);
    for (const path of paths) await rm(join(cache, path), { recursive: true, force: true });
  };

const post = async (url: string, headers: Record<string, string>, body?: object): Promise<void> => {
  const json = body && { body: JSON.stringify(body) };
  const type = body && { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers: { ...headers, ...type }, ...json });
  if (!response.ok) throw new Error(`The CDN answered ${String(response.status)}.`);
};

/** Cloudflare has separate copies for pages that load files across origins: `origins` names these pages. */
export const cloudflarePurge =
  (zone: string, token: string, origins: readonly string[] = []): Purge =>
  async (links) => {
    const url = `https://api.cloudflare.com/client/v4/zones/${zone}/purge_cache`;
    const headers = { authorization: `Bearer ${token}` };
    const files = links
      .filter((link) => !isFolder(link))
      .flatMap((url) => [url, ...origins.map((Origin) => ({ url, headers: { Origin } }))]);
    const prefixes = links.filter(isFolder).map((link) => withoutScheme(link).slice(0, -1));
    if (files.length > 0) await post(url, headers, { files });
    if (prefixes.length > 0) await post(url, headers, { prefixes });
  };

/** For a folder, purges everything with the surrogate key `stowage`: Fastly does not support folders. */
export const fastlyPurge =
  (service: string, token: string): Purge =>
  async (links) => {
    const calls = links.map((link) =>
      isFolder(link) ? `service/${service}/purge/stowage` : `purge/${withoutScheme(link)}`,
    );
    const key = { 'fastly-key': token };
    // At the same time: one after another, they would take longer than a webhook waits for its receiver.
    await Promise.all([...new Set(calls)].map((call) => post(`https://api.fastly.com/${call}`, key)));
  };
