import { createServer } from 'node:http';
import { createApp, type ConfigInput } from 'stowage';
import { Client, join, World, type Setting } from './client.ts';
import { readContent } from './content.ts';
import type { Faults } from './faults.ts';
import { History, type Found } from './history.ts';
import { Random } from './random.ts';
import { readWords, type Said, wordsOf } from './words.ts';

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Searches for words in each source, in the end. */
const MOST_SEARCHES = 5;

/** What a run is made of. */
export interface Run {
  readonly seed: number;
  readonly sources: ConfigInput['sources'];
  readonly clients: number;
  /** Services on the same sources, each with its own state; clients take turns among them. */
  readonly instances?: number;
  /** Ends after so many operations of all clients together… */
  readonly operations: number;
  /** …or after so many seconds. */
  readonly seconds?: number;
  /** Removed items go to the trash, which must give them back in the end. */
  readonly trash?: boolean;
  /** Set while clients work. */
  readonly faults?: Faults | undefined;
  /** What has changed outside of the roots, in words. */
  readonly outsideChanges?: () => Promise<readonly string[]>;
  /** Changes the store past the service, now and then. Says what it has stored, as a client would. */
  readonly outside?: (setting: Setting, random: Random) => Promise<void>;
  /** What lies in folders from the beginning. */
  readonly planted?: readonly { readonly name: string; readonly folder: string }[];
}

export interface Report {
  readonly violations: readonly string[];
  readonly complaints: readonly string[];
  readonly counts: History['counts'];
  readonly files: number;
  /** Of these, with words. */
  readonly described: number;
  /** Items about which clients have said something, whatever became of them. */
  readonly said: number;
}

interface Item {
  readonly name: string;
  readonly type: string;
  readonly about?: { readonly caption?: string };
}

const listed = async (url: string, source: string, path: string): Promise<readonly Item[]> => {
  const query = new URLSearchParams({ source, path, 'mods[withFolders]': 'true', 'mods[details]': 'true' });
  const answer = await fetch(`${url}/files?${query.toString()}`);
  const { data } = (await answer.json()) as { data: { sources: { files: Item[] }[] } };
  if (answer.status !== 200) throw new Error(`${source}/${path}: ${JSON.stringify(data)}`);
  return data.sources.flatMap(({ files }) => files);
};

const download = async (url: string, source: string, path: string, name: string): Promise<Buffer> => {
  const answer = await fetch(`${url}/fileDownload?${new URLSearchParams({ source, path, name }).toString()}`);
  if (answer.status !== 200)
    throw new Error(`${source}/${path}/${name} is listed and answers ${String(answer.status)}`);
  return Buffer.from(await answer.arrayBuffer());
};

/** Every file that the service shows, read back. */
const findAll = async (url: string, source: string, path = ''): Promise<Found[]> => {
  const found: Found[] = [];
  for (const { name, type, about } of await listed(url, source, path)) {
    if (type === 'folder') found.push(...(await findAll(url, source, join(path, name))));
    else {
      const written = await readContent(name, await download(url, source, path, name));
      found.push({ where: `${source}:/${path}`, name, written, words: readWords(about) });
    }
  }
  return found;
};

/** Files that a search for what is said about them does not find, in words. */
const unfound = async (
  url: string,
  sources: readonly string[],
  found: readonly Found[],
): Promise<string[]> => {
  const missed: string[] = [];
  for (const source of sources) {
    const described = found.filter(
      ({ where, words }) => where.startsWith(`${source}:`) && typeof words === 'object',
    );
    for (const { where, name, words } of described.slice(0, MOST_SEARCHES)) {
      const { caption = '' } = wordsOf(words as Said);
      const answer = await fetch(
        `${url}/filesSearch?${new URLSearchParams({ source, in: 'about', query: caption }).toString()}`,
      );
      const { data } = (await answer.json()) as { data: { items: Item[] } };
      if (answer.status !== 200 || !data.items.some((item) => item.name === name))
        missed.push(`${where}/${name} is not found by "${caption}"`);
    }
  }
  return missed;
};

interface Trashed {
  readonly id: string;
  readonly name: string;
}

const trashOf = async (url: string, source: string): Promise<readonly Trashed[]> => {
  const answer = await fetch(`${url}/trashList?${new URLSearchParams({ source }).toString()}`);
  const { data } = (await answer.json()) as { data: { items: Trashed[] } };
  if (answer.status !== 200) throw new Error(`the trash of ${source}: ${JSON.stringify(data)}`);
  return data.items;
};

/** Brings all back that the trash lists, so that its bytes can be read. Returns what did not come, in words. */
const restoreAll = async (url: string, source: string): Promise<readonly string[]> => {
  const failed = new Map<string, string>();
  for (;;) {
    // The list is cut where it grows long.
    const items = (await trashOf(url, source)).filter(({ id }) => !failed.has(id));
    if (items.length === 0) return [...failed.values()];
    for (const { id, name } of items) {
      const body = new URLSearchParams({ source, id, path: '/' });
      const answer = await fetch(`${url}/trashRestore`, { method: 'POST', body });
      const text = await answer.text();
      if (answer.status !== 200) failed.set(id, `${source}: the trash does not give ${name} back: ${text}`);
    }
  }
};

/** Serves what clients upload by address. */
const startRemote = async () => {
  const offers = new Map<string, Uint8Array>();
  const server = createServer((request, response) => {
    const content = offers.get(request.url ?? '');
    response.writeHead(content === undefined ? 404 : 200).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    offer: (name: string, content: Uint8Array): string => {
      offers.set(`/${name}`, content);
      return `http://127.0.0.1:${String(port)}/${name}`;
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
};

/**
 * Lets several clients do random things to the same sources at once, and compares what is there in the end
 * with the model.
 */
export const runModel = async ({
  seed,
  sources,
  clients,
  instances = 1,
  operations,
  seconds = Number.POSITIVE_INFINITY,
  trash = false,
  faults,
  outside,
  outsideChanges,
  planted = [],
}: Run): Promise<Report> => {
  const apps = Array.from({ length: instances }, () =>
    createApp(
      {
        extensions: ['txt', 'png'],
        createThumb: false,
        allowPrivateNetworkUploads: true,
        ...(trash ? { trash: {} } : {}),
        sources: sources ?? {},
      },
      {},
      { logger: silent },
    ),
  );
  const remote = await startRemote();
  try {
    const addresses = await Promise.all(apps.map((app) => app.listen(0, '127.0.0.1')));
    const urls = addresses.map(({ port }) => `http://127.0.0.1:${String(port)}`);
    const [url = ''] = urls;
    const history = new History();
    for (const { name, folder } of planted) history.moved(name, folder, 'done');
    const world = new World(Object.keys(sources ?? {}));
    const setting: Setting = { url, remote, world, history, complaints: [] };
    let left = operations;
    const end = performance.now() + seconds * 1000;
    const goesOn = (): boolean => left > 0 && performance.now() < end;
    if (faults !== undefined) faults.isOn = true;
    const work = async (client: Client): Promise<void> => {
      while (goesOn()) {
        left -= 1;
        await client.act();
      }
    };
    const change = async (random: Random): Promise<void> => {
      while (goesOn()) {
        await outside?.(setting, random);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await Promise.all([
      ...Array.from({ length: clients }, (_, index) =>
        work(
          new Client({ ...setting, url: urls[index % instances] ?? url }, new Random(seed * 1000 + index)),
        ),
      ),
      ...(outside === undefined ? [] : [change(new Random(seed * 1000 + 999))]),
    ]);
    // Requests that clients have left may still be at work; closing waits for none of them, a look after a
    // pause sees their end.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    if (faults !== undefined) faults.isOn = false;
    const unrestored = trash
      ? (await Promise.all(world.sources.map((source) => restoreAll(url, source)))).flat()
      : [];
    const found = (await Promise.all(world.sources.map((source) => findAll(url, source)))).flat();
    return {
      violations: [
        ...unrestored,
        // Instances do not share the locks that keep words with a file that moves meanwhile.
        ...history.violations(found, trash, faults !== undefined || instances > 1),
        ...(await unfound(url, world.sources, found)),
        ...((await outsideChanges?.()) ?? []),
      ],
      described: found.filter(({ words }) => words !== undefined).length,
      said: history.words.count,
      // Faults of the store are passed on, as they should be.
      complaints: faults === undefined ? setting.complaints : [],
      counts: history.counts,
      files: found.length,
    };
  } finally {
    await Promise.all(apps.map((app) => app.close()));
    await remote.stop();
  }
};
