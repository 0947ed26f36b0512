import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ConfigError, createRouter } from 'stowage';
import { checkConfiguration, loadSources } from '#internals';
import type { ConfigInput } from 'stowage';
import { factories, load, source } from './load.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-references-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

afterEach(() => {
  vi.unstubAllEnvs();
});

const secretFile = async (name: string, text: string | Buffer): Promise<string> => {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
};

const problemsOf = (input: unknown): readonly string[] => {
  try {
    checkConfiguration(input as object);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').slice(1);
    throw error;
  }
};

const dav = (options: object): object => ({
  sources: { dav: { title: 'Team', serve: 'public', storageAdapter: 'webdav', webdav: options } },
});

describe('references in a configuration', () => {
  it('stand for variables and files wherever text is expected', async () => {
    vi.stubEnv('DAV_URL', 'https://dav.example.com/team');
    vi.stubEnv('SIGNING_KEY', 'k'.repeat(40));
    const config: ConfigInput = {
      ...dav({
        url: { env: 'DAV_URL' },
        username: 'ann',
        password: { file: await secretFile('password', '\uFEFFtwo words \r\n') },
      }),
      signingSecret: [{ env: 'SIGNING_KEY' }, 'l'.repeat(40)],
      maxUploadFileSize: { file: await secretFile('size', '20mb\n') },
    };
    const { settings, sources } = checkConfiguration(config).config;
    expect(sources[0]?.adapterOptions).toMatchObject({
      url: 'https://dav.example.com/team/',
      username: 'ann',
      password: 'two words ',
    });
    expect(settings).toMatchObject({
      signingSecret: ['k'.repeat(40), 'l'.repeat(40)],
      maxUploadFileSize: 20 * 1024 ** 2,
    });
    const root = { file: await secretFile('root', folder) };
    await createRouter({ sources: { a: { title: 'A', serve: 'public', root } } }).close();
  });

  it('are a problem under their key when there is nothing behind them, beside all others', async () => {
    const empty = await secretFile('empty', '\n');
    const random = await secretFile('random', Buffer.alloc(40, 0xfe));
    expect(
      problemsOf({
        qualty: 1,
        signingSecret: { file: random },
        ...dav({
          url: { env: 'NOT_SET' },
          username: { file: join(folder, 'nothing') },
          password: { file: empty },
        }),
      }),
    ).toEqual([
      `  - signingSecret: the file "${random}" cannot be read: The encoded data was not valid for encoding utf-8`,
      '  - sources.dav.webdav.url: the environment variable NOT_SET is not set',
      `  - sources.dav.webdav.username: the file "${join(folder, 'nothing')}" cannot be read: there is no such file`,
      `  - sources.dav.webdav.password: the file "${empty}" is empty`,
      '  - qualty: is not a known key; did you mean "quality"?',
    ]);
  });

  it('do not show what they hold when it is not valid', async () => {
    vi.stubEnv('BASE', 'hidden/value');
    const size = await secretFile('hidden', 'hidden\nvalue');
    const problems = problemsOf({
      maxUploadFileSize: { file: size },
      signingSecret: { env: 'BASE' },
      sources: { a: { title: 'A', root: '/srv', baseurl: { env: 'BASE' } } },
    }).join('\n');
    expect(problems).toContain('maxUploadFileSize: must be a number of bytes');
    expect(problems).toContain(`not what the file ${JSON.stringify(size)} holds`);
    expect(problems).toContain('not what the environment variable BASE holds');
    expect(problems).not.toContain('hidden/value');
    expect(problems).not.toContain('hidden\\nvalue');
  });

  it('are nothing but objects where no text is expected', () => {
    vi.stubEnv('NUMBER', '80');
    expect(problemsOf({ quality: { env: 'NUMBER' }, sources: {} })).toEqual([
      '  - quality: must be a whole number, not an object',
    ]);
    // Headers of these names, and the options of an adapter that only the host knows.
    const headers = { env: 'NUMBER' };
    const { config } = checkConfiguration(dav({ url: 'https://dav.example.com/', headers }));
    expect(config.sources[0]?.adapterOptions).toMatchObject({ headers });
    const vault = { key: { env: 'NUMBER' }, store: { file: '/etc/passwd' } };
    const loaded = load({ sources: { a: source({ storageAdapter: 'vault', vault }) } });
    expect(loaded.sources[0]?.adapterOptions).toEqual(vault);
    expect(problemsOf({ title: { env: 'NUMBER', file: 'a' }, sources: {} })).toEqual([
      '  - title: must be text, not an object',
    ]);
  });

  it('are not read in sources of tenants, which may come from strangers', async () => {
    const root = { file: await secretFile('tenant', '/srv') };
    const { settings } = load({ sources: {} });
    expect(() => loadSources({ a: source({ root }) }, settings, factories)).toThrow(
      'sources.a.root: must be text',
    );
  });

  it('pass the JSON schema for editors', () => {
    const schema = JSON.parse(readFileSync('packages/stowage/config.schema.json', 'utf8')) as object;
    const validate = new Ajv({ strict: false }).compile(schema);
    const signingSecret = { env: 'KEY' };
    expect(validate({ signingSecret, ...dav({ url: { env: 'A' }, password: { file: '/run/b' } }) })).toBe(
      true,
    );
    expect(validate(dav({ url: { env: 'A', file: 'b' } }))).toBe(false);
    expect(validate({ quality: { env: 'A' } })).toBe(false);
  });
});
