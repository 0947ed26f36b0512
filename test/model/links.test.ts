import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRouter, type Router } from 'stowage';
import { expect, it, onTestFinished } from 'vitest';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { quiet } from '../http/hosts.ts';
import { Random } from './random.ts';

/** `STOWAGE_LINKS_SCALE=50` makes 1,000 documents with 5,000 pictures, and 10,000 changes. */
const SCALE = Number(process.env['STOWAGE_LINKS_SCALE'] ?? 1);
const DOCUMENTS = 20 * SCALE;
const PICTURES = 100 * SCALE;
const CHANGES = 200 * SCALE;
const FOLDERS = 6 + 2 * SCALE;
/** `s3` starts a server of its own. */
const STORE = process.env['STOWAGE_LINKS_STORE'] ?? 'local';
const LOOKS_AT_ONCE = 8;

interface Store {
  readonly settings: object;
  put(path: string, content: string): Promise<void>;
}

const startStore = async (): Promise<Store> => {
  if (STORE === 's3') {
    const server = await startRadosgw();
    onTestFinished(() => server.stop());
    const bucket = await makeBucket(server);
    onTestFinished(() => bucket.client.destroy());
    const settings = { storageAdapter: 's3', s3: optionsFor(server, bucket.name) };
    return { settings, put: (path, content) => bucket.put(path, content) };
  }
  const root = await mkdtemp(join(tmpdir(), 'stowage-links-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return {
    settings: { root },
    put: async (path, content) => {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    },
  };
};

/** Prints how far a long run has come. */
const report = (line: string): void => {
  if (SCALE > 1) process.stderr.write(`${new Date().toISOString()} ${line}\n`);
};

interface Picture {
  /** Where it lies; with an id in the trash where it lay. */
  path: string;
  content: string;
  trashId?: string | undefined;
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const within = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

/** The pictures of one source, changed by its actions, and as they ought to be. */
class Library {
  readonly pictures: Picture[] = [];
  folders: string[] = [''];
  readonly #router: Router;
  readonly #random: Random;
  #names = 0;

  constructor(router: Router, random: Random) {
    this.#router = router;
    this.#random = random;
  }

  newName(kind: string): string {
    this.#names += 1;
    return `${kind} ${String(this.#names)}${kind === 'picture' ? '.png' : ''}`;
  }

  async call(
    action: string,
    fields: Record<string, string>,
    file?: [string, string],
  ): Promise<Record<string, unknown>> {
    const body = new FormData();
    for (const [name, value] of Object.entries({ source: 'photos', ...fields })) body.append(name, value);
    if (file !== undefined) body.append('files[0]', new Blob([file[1]]), file[0]);
    const response = await this.#router.fetch(new Request(`http://host/${action}`, { method: 'POST', body }));
    const { success, data } = (await response.json()) as { success: boolean; data: Record<string, unknown> };
    expect([action, fields, success ? true : data]).toEqual([action, fields, true]);
    return data;
  }

  #folderGoes(from: string, to: string): void {
    const moved = (path: string): string =>
      path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;
    this.folders = this.folders.map(moved);
    for (const picture of this.pictures)
      if (picture.trashId === undefined) picture.path = moved(picture.path);
  }

  async changePicture(picture: Picture): Promise<void> {
    const [path, name] = [folderOf(picture.path), nameOf(picture.path)];
    const target = this.#random.pick(this.folders);
    if (picture.trashId !== undefined) {
      // Without a path it would come back where it was.
      await this.call('trashRestore', { id: picture.trashId, path: `/${target}` });
      picture.trashId = undefined;
      picture.path = within(target, name);
      return;
    }
    switch (this.#random.below(4)) {
      case 0: {
        const newname = this.newName('picture');
        await this.call('fileRename', { path, name, newname });
        picture.path = within(path, newname);
        break;
      }
      case 1:
        if (target === path) return;
        await this.call('fileMove', { from: picture.path, path: target });
        picture.path = within(target, name);
        break;
      case 2:
        picture.content += '+';
        await this.call('fileReplace', { path, name }, [name, picture.content]);
        break;
      default: {
        await this.call('fileRemove', { path, name });
        const { items } = await this.call('trashList', {});
        picture.trashId = (items as { id: string; name: string }[]).find((item) => item.name === name)?.id;
        expect(picture.trashId).toBeDefined();
      }
    }
  }

  async changeFolder(): Promise<void> {
    const from = this.#random.pick(this.folders.slice(1));
    const newname = this.newName('folder');
    await this.call('folderRename', { path: folderOf(from), name: nameOf(from), newname });
    const renamed = within(folderOf(from), newname);
    this.#folderGoes(from, renamed);
    const targets = this.folders.filter((one) => one !== renamed && !one.startsWith(`${renamed}/`));
    const target = this.#random.pick(targets);
    if (target === folderOf(renamed) || target.split('/').length > 6) return;
    await this.call('folderMove', { from: renamed, path: target });
    this.#folderGoes(renamed, within(target, newname));
  }
}

const show = async (router: Router, url: string): Promise<string> => {
  const answer = await router.fetch(new Request(new URL(url, 'http://host')));
  const location = answer.headers.get('location');
  if (answer.status !== 308 || location === null)
    return answer.status === 200 ? answer.text() : String(answer.status);
  // In one step.
  const next = await router.fetch(new Request(new URL(location, 'http://host')));
  return next.status === 200 ? next.text() : `308 ${String(next.status)}`;
};

it.each(['public', 'signed'] as const)(
  'documents show every picture that still exists: %s',
  async (serve) => {
    const store = await startStore();
    const source = {
      title: 'Photos',
      ...store.settings,
      serve,
      redirectMoved: { entries: 100_000 },
      trash: {},
      createThumb: false,
    };
    const config = { signingSecret: 'a secret of at least 32 bytes, for this', sources: { photos: source } };
    const router = createRouter(config, {}, quiet);
    onTestFinished(() => router.close());
    const random = new Random(serve.length);
    const library = new Library(router, random);
    for (let index = 0; index < FOLDERS; index += 1) {
      const folder = library.newName('folder');
      await library.call('folderCreate', { path: '', name: folder });
      library.folders.push(folder);
    }
    for (let index = 0; index < PICTURES; index += 1) {
      const path = within(random.pick(library.folders), library.newName('picture'));
      await store.put(path, path);
      library.pictures.push({ path, content: path });
    }
    /** Links that were written at any time, with the picture that each shows. */
    const written: { readonly url: string; readonly picture: Picture }[] = [];
    const write = (count: number, lifetime: number): void => {
      for (let index = 0; index < count; index += 1) {
        const picture = random.pick(library.pictures.filter(({ trashId }) => trashId === undefined));
        written.push({ url: router.urlFor('photos', picture.path, { lifetime }), picture });
      }
    };
    write(DOCUMENTS * 4, 86_400);
    for (let change = 0; change < CHANGES; change += 1) {
      if (random.below(8) === 0) await library.changeFolder();
      else await library.changePicture(random.pick(library.pictures));
      if (change === CHANGES / 2) write(DOCUMENTS, 86_400);
      if (change % 500 === 0) report(`${serve}: ${String(change)} of ${String(CHANGES)} changes`);
    }
    report(`${serve}: ${String(written.length)} links`);
    const wrong: string[] = [];
    const waiting = [...written];
    const look = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { url, picture } = next;
        const expected = picture.trashId === undefined ? picture.content : '404';
        const shown = await show(router, url);
        if (shown !== expected) wrong.push(`${url} shows ${shown}, not ${expected} of ${picture.path}`);
        if (waiting.length > 0 && waiting.length % 500 === 0)
          report(`${serve}: ${String(waiting.length)} links are left`);
      }
    };
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, look));
    expect(wrong).toEqual([]);
    report(`${serve}: 0 dead links; they are renewed`);
    const html = written.map(({ url }) => `<img src="${url.replaceAll('&', '&amp;')}">`).join('\n');
    const renewed = [...(await router.renewLinks(html)).matchAll(/src="([^"]*)"/gu)];
    for (const [index, { picture }] of written.entries()) {
      const url = renewed[index]?.[1]?.replaceAll('&amp;', '&') ?? '';
      const answer = await router.fetch(new Request(new URL(url, 'http://host')));
      const expected = picture.trashId === undefined ? [200, picture.content] : [404];
      expect([answer.status, ...(answer.status === 200 ? [await answer.text()] : [])]).toEqual(expected);
    }
    report(`${serve}: done`);
  },
  120_000 * SCALE,
);
