/** A service over a prepared tree, whose every byte is looked at. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { AccessRule } from 'stowage';
import { onTestFinished } from 'vitest';
import { startSite } from '../network/loopback.ts';
import { quarters } from '../pictures/pictures.ts';
import { startService, type Service } from '../protocol/service.ts';

/** A file or folder of a source, as access rules name it. */
export interface Entry {
  readonly source: string;
  readonly path: string;
  readonly kind: 'file' | 'folder';
}

/** What lies on disk: the entries and all that the service keeps beside them, by path, each with a hash. */
export type Fingerprint = ReadonlyMap<string, string>;

/** What differs between the beginning and now; of what lies in the trash where it was. */
interface Touched {
  readonly made: readonly Entry[];
  /** Gone, or with other content. */
  readonly others: readonly Entry[];
  /** Pictures of which something was drawn. */
  readonly drawn: readonly Entry[];
}

export interface Stage {
  readonly url: string;
  readonly ids: readonly string[];
  readonly site: string;
  readonly baseurl: string;
  /** Of an upload. */
  readonly picture: Buffer<ArrayBuffer>;
  readonly begin: Fingerprint;
  /** The contents of the files of the beginning, also of those in the trash, by the paths that they have or had. */
  readonly contents: ReadonlyMap<string, Buffer>;
  /** Where lay what the trash has under an id. */
  trashed(id: string): string | undefined;
  look(): Fingerprint;
  /** Makes everything as it was at the beginning. */
  restore(): void;
  touched(now: Fingerprint): Touched;
  /** All entries of the beginning. */
  readonly entries: readonly Entry[];
}

/** The rules are in the role. */
export const asking = (rules: readonly AccessRule[]): Readonly<Record<string, string>> => ({
  'x-role': JSON.stringify(rules),
});

/** A service that follows the rules that a request brings. */
export const startWithRules = (options: Parameters<typeof startService>[0]): Promise<Service> =>
  startService(options, {
    checkAuthentication: ({ headers }) => headers['x-role'] ?? '[]',
    accessControl: (_request, { role }) => JSON.parse(role) as AccessRule[],
    findUses: () => [],
  });

const HIDDEN = /(?:^|\/)\.stowage-tmp(?:\/|$)/u;

const hash = (bytes: Buffer): string => createHash('sha1').update(bytes).digest('hex');

/** Thousands of times a test: many small files are read faster one after the other. */
const look = (root: string, folder = ''): Fingerprint =>
  new Map(
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry): [string, string][] => {
      const path = folder + entry.name;
      if (HIDDEN.test(path)) return [];
      if (!entry.isDirectory()) return [[path, hash(readFileSync(join(root, path)))]];
      return [[`${path}/`, 'folder'], ...look(root, `${path}/`)];
    }),
  );

const bytesOf = (root: string, files: Fingerprint): ReadonlyMap<string, Buffer> =>
  new Map(
    [...files.keys()].flatMap((path) =>
      path.endsWith('/') ? [] : [[path, readFileSync(join(root, path))] as const],
    ),
  );

const ABOUT = '/.stowage-about/';

/** Where the words about a file lie. */
const recordOf = (path: string): string => {
  const name = createHash('sha256').update(basename(path).toUpperCase()).digest('hex').slice(0, 40);
  return `${dirname(path)}${ABOUT}${name}.json`;
};

/** All lies in it. */
export const FOLDER = 'loft';

/** The tree. Every name stands for one path alone, and every file holds something of its own. */
const prepare = async (service: Service): Promise<void> => {
  const picture = (width: number) => quarters(width, 40).png().toBuffer();
  await service.source('files').put({
    'loft/kestrel.png': await picture(80),
    'loft/plover.txt': 'the plover sings',
    'loft/eyrie/gorge/wren.txt': 'the wren sings',
    'loft/ibis.txt': 'the ibis sings',
    'loft/roost/owl.txt': 'the owl sings',
    'barn/': '',
  });
  await service.source('far').put({
    'loft/kestrel.png': await picture(70),
    'loft/plover.txt': 'the far plover sings',
    'loft/eyrie/gorge/heron.txt': 'the heron sings',
  });
};

interface Trashed extends Entry {
  readonly id: string;
}

const remove = async (service: Service): Promise<readonly Trashed[]> => {
  await service.call('fileRemove', { path: 'loft', name: 'ibis.txt' });
  await service.call('folderRemove', { path: 'loft', name: 'roost' });
  const { data } = await service.call('trashList');
  const items = data['items'] as readonly { id: string; name: string; kind: 'file' | 'folder' }[];
  return items.map(({ id, name, kind }) => ({ id, kind, source: 'files', path: `loft/${name}` }));
};

/** Starts a service whose trash holds a file and a folder. It ends with the test. */
export const startStage = async (): Promise<Stage> => {
  const site = await startSite((_request, response) => void response.end('from far away'));
  onTestFinished(() => site.close());
  const baseurl = `${site.origin}/files/`;
  const stateDirectory = await mkdtemp(join(tmpdir(), 'stowage-stage-'));
  onTestFinished(() => rm(stateDirectory, { recursive: true, force: true }));
  const service = await startWithRules({
    tus: {},
    stateDirectory,
    trash: {},
    createThumb: false,
    allowPrivateNetworkUploads: true,
    imagePresets: { card: { width: 10 } },
    sources: { files: { baseurl }, far: {} },
  });
  await prepare(service);
  const { root } = service.outside;
  const whole = look(root);
  const contents = bytesOf(root, whole);
  const trashed = await remove(service);
  const begin = look(root);
  const kept = bytesOf(root, begin);

  /** The entry that something on disk belongs to: a thumbnail to its picture, what is in the trash to where it was. */
  const entryOf = (key: string): Entry | undefined => {
    const plain = key.replace(/\/$/u, '');
    const [source = '', ...segments] = plain.split('/');
    const item = trashed.find(({ id }) => plain.includes(id));
    const kind = key.endsWith('/') ? 'folder' : 'file';
    if (item !== undefined) {
      const name = item.path.replace(/^.*\//u, '');
      const below = plain.split(`/${name}`)[1];
      return below === undefined ? undefined : { source, path: item.path + below, kind };
    }
    if (segments.length === 0 || segments.some((segment) => segment.startsWith('.'))) return undefined;
    const thumbs = segments.indexOf('_thumbs');
    if (thumbs === -1) return { source, path: segments.join('/'), kind };
    return kind === 'folder'
      ? undefined
      : { source, path: [...segments.slice(0, thumbs), segments.at(-1)].join('/'), kind };
  };
  const entriesIn = (keys: Iterable<string>): readonly Entry[] => {
    const found = [...keys].flatMap((key) => entryOf(key) ?? []);
    return [...new Map(found.map((entry) => [`${entry.source}/${entry.path}`, entry])).values()];
  };

  return {
    url: service.url,
    ids: trashed.map(({ id }) => id),
    site: site.origin,
    baseurl,
    picture: Buffer.from(await quarters(90, 40).png().toBuffer()),
    begin,
    contents,
    entries: entriesIn([...whole.keys(), ...begin.keys()]),
    trashed: (wanted) => trashed.find(({ id }) => id === wanted)?.path,
    look: () => look(root),
    restore: () => {
      const now = look(root);
      const differs = [...new Set([...begin.keys(), ...now.keys()])].filter(
        (path) => begin.get(path) !== now.get(path),
      );
      for (const path of differs)
        if (!begin.has(path)) rmSync(join(root, path), { recursive: true, force: true });
      for (const path of differs) {
        const bytes = kept.get(path);
        if (bytes !== undefined) writeFileSync(join(root, path), bytes);
        else if (begin.has(path)) mkdirSync(join(root, path), { recursive: true });
      }
    },
    touched: (now) => {
      const differs = [...new Set([...begin.keys(), ...now.keys()])].filter(
        (key) => begin.get(key) !== now.get(key),
      );
      const isDrawn = (key: string): boolean => key.includes('/_thumbs/');
      const isAbout = (key: string): boolean => key.includes(ABOUT);
      const entries = differs.filter((key) => !isDrawn(key) && !isAbout(key));
      // Words about a file that is new are a part of it.
      const described = [...begin.keys()].filter((key) => differs.includes(recordOf(key)));
      return {
        made: entriesIn(entries.filter((key) => !begin.has(key))),
        others: entriesIn([...new Set([...entries.filter((key) => begin.has(key)), ...described])]),
        drawn: entriesIn(differs.filter(isDrawn)),
      };
    },
  };
};
