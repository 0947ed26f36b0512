import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { accessKeyOf, createActions, examineService, type DoctorOptions, type Finding } from '#internals';

/** A folder for one test, and the root of its source in it. */
export const here = { folder: '', root: '' };

/** Makes the folders for each test of a file. */
export const useFolders = (): void => {
  beforeEach(async () => {
    here.folder = await mkdtemp(join(tmpdir(), 'stowage-doctor-'));
    here.root = join(here.folder, 'photos');
    await mkdir(here.root);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(here.folder, { recursive: true, force: true });
  });
};

export type Config = Readonly<Record<string, unknown>>;
export type Asked = Partial<DoctorOptions>;

export const none = { config: undefined, pageOrigin: undefined, url: undefined, formSize: undefined };
export const page = 'https://www.example.com';
export const closed = 'http://127.0.0.1:1024';

export const examine = async (config: Config, asked: Asked = {}): Promise<readonly Finding[]> => {
  const file = join(here.folder, 'stowage.json');
  await writeFile(file, JSON.stringify(config), { mode: 0o640 });
  await chmod(file, config['mode'] === undefined ? 0o640 : 0o644);
  return examineService({ ...none, config: file, ...asked }, new AbortController().signal);
};

/** Denies all that changes something. */
const nothingChanges = Object.fromEntries(
  [...createActions().values()]
    .filter(({ changes }) => changes)
    .map(({ name }) => [accessKeyOf(name), false]),
);

/** A set-up in which nothing is wrong. */
export const healthy = (): Config => ({
  accessControl: [nothingChanges],
  extensions: ['jpg', 'png', 'txt'],
  sources: { photos: { title: 'Photos', root: here.root, serve: 'public' } },
});

export const withSource = (source: Config, more: Config = {}): Config => ({
  ...healthy(),
  sources: { photos: { title: 'Photos', root: here.root, ...source } },
  ...more,
});

export type Made = Config | readonly [config: Config, asked: Asked];
export type Row = readonly [
  name: string,
  make: () => Made | Promise<Made>,
  check: string,
  level: 'risk' | 'broken',
  text: RegExp,
  fix: RegExp,
];

export const expectFinding = async ([, make, check, level, text, fix]: Row): Promise<readonly Finding[]> => {
  const made = await make();
  const [config, asked] = (Array.isArray(made) ? made : [made]) as [Config, Asked?];
  const findings = await examine(config, asked);
  const problems = findings.filter((finding) => finding.level === 'risk' || finding.level === 'broken');
  expect(problems).toContainEqual(
    expect.objectContaining({
      check,
      level,
      text: expect.stringMatching(text) as string,
      fix: expect.stringMatching(fix) as string,
    }),
  );
  for (const finding of problems) expect(`${finding.text}${finding.fix ?? '\n'}`).not.toContain('\n');
  return problems;
};

export const alone = { serve: 'off' } as const;
export const atOrigin = (origin: string, more: Config = {}): Config =>
  withSource({ ...alone, baseurl: `${origin}/`, ...more });
