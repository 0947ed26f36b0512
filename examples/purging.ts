import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceEvent } from 'stowage';

/** Makes a cache forget these links; one with a slash at its end stands for all that begin with it. */
type Purge = (links: readonly string[]) => Promise<void>;

const isFolder = (link: string): boolean => link.endsWith('/');
const withoutScheme = (link: string): string => link.replace(/^https?:\/\//u, '');

/** For `onEvent`: the changes of two seconds in one call of at most so many links. What fails is tried again. */
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

/** Removes what nginx keeps in `cache` with `levels=1:2` and `proxy_cache_key $uri`; for a folder, everything. */
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

export const cloudflarePurge =
  (zone: string, token: string): Purge =>
  async (links) => {
    const url = `https://api.cloudflare.com/client/v4/zones/${zone}/purge_cache`;
    const headers = { authorization: `Bearer ${token}` };
    const files = links.filter((link) => !isFolder(link));
    const prefixes = links.filter(isFolder).map((link) => withoutScheme(link).slice(0, -1));
    if (files.length > 0) await post(url, headers, { files });
    if (prefixes.length > 0) await post(url, headers, { prefixes });
  };

/** Of a folder all that has the surrogate key `stowage`: Fastly knows no folders. */
export const fastlyPurge =
  (service: string, token: string): Purge =>
  async (links) => {
    for (const link of links) {
      const what = isFolder(link) ? `service/${service}/purge/stowage` : `purge/${withoutScheme(link)}`;
      await post(`https://api.fastly.com/${what}`, { 'fastly-key': token });
    }
  };
