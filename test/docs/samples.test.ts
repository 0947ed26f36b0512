import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActions } from '#internals';
import { form, json, multipart } from '../security/doors.ts';
import { declaredParameters, requestsFor } from '../security/requests.ts';
import { freePort } from '../../tools/test-servers/server-processes.ts';
import { startProvider, type IdentityProvider } from '../start/logins.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** Inside the project, so that the samples find the package by its name and the frameworks beside it. */
const folder = join(root, '.cache', `samples-${String(process.pid)}`);

const SERVERS = [
  'app',
  'express',
  'fastify',
  'koa',
  'hono',
  'hooks',
  'node-http',
  'login/session',
  'login/jwt',
] as const;
type Server = (typeof SERVERS)[number];

let bases: ReadonlyMap<Server, string>;
/** The working directory of running samples: their relative roots lie in it. */
let workplace: string;
let child: ChildProcess;
let provider: IdentityProvider;

const sample = (name: string): Promise<string> => readFile(join(root, 'examples', name), 'utf8');

/** Asks until somebody answers. */
const ask = async (url: string, headers: Record<string, string> = {}): Promise<Response> => {
  for (let attempt = 0; attempt < 400; attempt++) {
    try {
      return await fetch(url, { headers });
    } catch {
      await new Promise((wait) => setTimeout(wait, 50));
    }
  }
  throw new Error(`Nobody answers at ${url}.`);
};

/** The address of a running sample. */
const base = (name: Server): string => bases.get(name) ?? '';

/** Writes the samples with their ports replaced by free ones, and starts them all in one process. */
const startSamples = async (): Promise<ReadonlyMap<Server, string>> => {
  const addresses = new Map<Server, string>();
  for (const name of SERVERS) {
    const port = String(await freePort());
    const code = (await sample(`${name}.ts`)).replaceAll(/\b(?:3000|8081)\b/gu, port);
    expect(code).toContain(port);
    await writeFile(join(folder, `${name}.ts`), code);
    addresses.set(name, `http://localhost:${port}`);
  }
  const all = join(folder, 'all.ts');
  await writeFile(all, SERVERS.map((name) => `import './${name}.ts';\n`).join(''));
  const arguments_ = ['--import', import.meta.resolve('tsx'), all];
  child = spawn(process.execPath, arguments_, {
    cwd: workplace,
    stdio: 'ignore',
    env: { ...process.env, ISSUER: provider.issuer },
  });
  return addresses;
};

beforeAll(async () => {
  workplace = await mkdtemp(join(tmpdir(), 'stowage-samples-'));
  provider = await startProvider();
  await mkdir(join(folder, 'login'), { recursive: true });
  bases = await startSamples();
});

afterAll(async () => {
  child.kill('SIGKILL');
  provider.close();
  await rm(folder, { recursive: true, force: true });
  await rm(workplace, { recursive: true, force: true });
});

describe('the examples', () => {
  it.each(['express', 'fastify', 'koa', 'hono'] as const)('serve below a prefix: %s', async (name) => {
    const connector = `${base(name)}/connector`;
    expect(await (await ask(`${connector}/ping`)).json()).toEqual({ success: true });
    const listing = await ask(`${connector}/?action=files&source=photos`);
    expect(await listing.json()).toMatchObject({ success: true, data: { sources: [{ name: 'photos' }] } });
  });

  it.each(['express', 'fastify', 'koa', 'hono', 'node-http'] as const)(
    'serve what was uploaded: %s',
    async (name) => {
      const connector = name === 'node-http' ? base(name) : `${base(name)}/connector`;
      const form = new FormData();
      form.append('files[0]', new Blob(['hello']), `of ${name}.txt`);
      const stored = await fetch(`${connector}/?action=fileUpload`, { method: 'POST', body: form });
      const { data } = (await stored.json()) as { data: { baseurl: string; files: string[] } };
      const file = await fetch(new URL(data.baseurl + (data.files[0] ?? ''), connector));
      expect([file.status, await file.text()]).toEqual([200, 'hello']);
    },
  );

  it('serve with node:http', async () => {
    expect(await (await ask(`${base('node-http')}/files`)).json()).toMatchObject({ success: true });
  });

  it('serve as a route of Next.js', async () => {
    const file = join(folder, 'next-route.mts');
    const code = await sample('next-route.ts');
    const own = JSON.stringify(join(workplace, 'next'));
    await writeFile(file, code.replace("root: 'photos'", `extensions: ['png'], root: ${own}`));
    const route = (await import(pathToFileURL(file).href)) as Record<
      string,
      (request: Request) => Promise<Response>
    >;
    const answer = await route['GET']?.(new Request('https://www.example.com/connector/files'));
    expect(await answer?.json()).toMatchObject({ success: true });
    expect(route).toHaveProperty('HEAD');
    expect(route).toHaveProperty('POST');
    expect(route).toHaveProperty('OPTIONS');
  });

  it('reject whom the hook rejects, and give an editor its rights', async () => {
    const stranger = await ask(`${base('app')}/permissions`);
    expect(stranger.status).toBe(401);
    expect(await stranger.json()).toMatchObject({ data: { messages: ['Please log in.'] } });
    const editor = await ask(`${base('app')}/permissions`, {
      authorization: 'Bearer a-token-that-you-verify',
    });
    expect(await editor.json()).toMatchObject({ data: { permissions: { allowFileRemove: true } } });
  });

  /** How a reader and an editor of a sample ask. */
  const logins = {
    'login/session': async () => {
      const url = `${base('login/session')}/`;
      await ask(url);
      const headersOf = async (name: string): Promise<Record<string, string>> => {
        const { headers } = await fetch(`${url}login/${name}`, { method: 'POST' });
        return { cookie: headers.get('set-cookie') ?? '' };
      };
      return { url: `${url}connector`, reader: await headersOf('bob'), editor: await headersOf('ann') };
    },
    'login/jwt': async () => {
      const url = base('login/jwt');
      await ask(url);
      const headersOf = async (role: string): Promise<Record<string, string>> => ({
        authorization: `Bearer ${await provider.token({ role })}`,
      });
      return { url, reader: await headersOf('reader'), editor: await headersOf('editor') };
    },
  } as const;

  it.each(['login/session', 'login/jwt'] as const)('let a reader change nothing: %s', async (name) => {
    const photos = join(workplace, 'photos');
    await mkdir(join(photos, 'loft/eyrie/gorge'), { recursive: true });
    await mkdir(join(photos, 'barn'), { recursive: true });
    const paths = ['loft/kestrel.png', 'loft/plover.txt', 'loft/eyrie/gorge/wren.txt'];
    for (const path of paths) await writeFile(join(photos, path), path);
    const onDisk = async (): Promise<unknown> => {
      const files = paths.map((path) => readFile(join(photos, path)));
      return [readdirSync(photos, { recursive: true }).toSorted(), await Promise.all(files)];
    };
    const before = await onDisk();
    const { url, reader, editor } = await logins[name]();
    const picture = multipart(Buffer.from('a picture'));
    const about = { ids: ['x'], site: 'https://www.example.com', baseurl: 'https://files.example/' };
    const declared = await declaredParameters();
    for (const [action, { changes, changesWith = '', takesFiles }] of createActions())
      for (const fields of requestsFor(declared.get(action) ?? {}, about)) {
        if (!changes && fields[changesWith] !== 'fresh') continue;
        for (const send of takesFiles ? [picture] : [form, json]) {
          const { status } = await send(`${url}/${action}`, reader, fields);
          expect([action, fields, status]).toEqual([action, fields, 403]);
        }
      }
    expect(await onDisk()).toEqual(before);
    expect((await form(`${url}/files`, reader, { path: 'loft' })).status).toBe(200);
    const removed = await form(`${url}/fileRemove`, editor, { path: 'loft', name: 'plover.txt' });
    expect(removed.status).toBe(200);
  });

  it('give every tenant its own sources, rules and origins', async () => {
    expect((await ask(`${base('hooks')}/files`)).status).toBe(401);
    const ann = { 'x-api-key': 'key-of-ann' };
    const listing = await ask(`${base('hooks')}/files`, { ...ann, origin: 'https://app.example.com' });
    expect(await listing.json()).toMatchObject({ data: { sources: [{ name: 'own', title: 'My files' }] } });
    expect(listing.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    const readOnly = { ...ann, 'x-read-only': '1', origin: 'https://example.org' };
    const permissions = await ask(`${base('hooks')}/permissions`, readOnly);
    expect(await permissions.json()).toMatchObject({ data: { permissions: { allowFileUpload: false } } });
    expect(permissions.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('are a valid configuration', async () => {
    const file = join(root, 'examples/stowage.json');
    const { stdout } = await run(process.execPath, [
      join(root, 'packages/stowage/dist/cli.js'),
      'check-config',
      '--config',
      file,
    ]);
    expect(stdout).toContain('The configuration is valid.');
  });
});

describe('the documents', () => {
  const readDocument = (name: string): Promise<string> => readFile(join(root, name), 'utf8');

  it('connect the editor', async () => {
    const readme = await readDocument('README.md');
    const [, code = ''] = /<!-- sample: jodit -->\s+```js\n(.*?)```/su.exec(readme) ?? [];
    const made: unknown[] = [];
    const Jodit = { make: (...values: unknown[]) => made.push(...values) };
    const { connectJodit } = (await import(
      pathToFileURL(join(root, 'packages/browser/dist/jodit.js')).href
    )) as object & {
      connectJodit: unknown;
    };
    runInNewContext(code.replaceAll(/^import .*$/gmu, ''), { Jodit, connectJodit });
    expect(made).toMatchObject([
      '#editor',
      {
        filebrowser: { ajax: { url: 'https://www.example.com/connector/', method: 'POST' } },
        uploader: { url: 'https://www.example.com/connector/', data: { action: 'fileUpload' } },
      },
    ]);
  });
});
