import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRouter, ConfigError, type ConnectorHooks } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-risks-'));
  for (const name of ['photos', 'app']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'app', 'package.json'), '{}');
});
afterAll(() => rm(folder, { recursive: true }));

type Config = Readonly<Record<string, unknown>>;

const member: ConnectorHooks = { checkAuthentication: () => 'member' };

/** A source that nothing is said about, with these keys changed. */
const source = (changes: Config = {}): Config => ({
  title: 'Photos',
  root: join(folder, 'photos'),
  serve: 'public',
  ...changes,
});

/** What a start says of a configuration, and why it is refused. */
const start = async (
  config: Config,
  hooks: ConnectorHooks = member,
): Promise<{ warnings: string[]; notes: string[]; problems: readonly string[] }> => {
  const merged: object = { sources: { photos: source() }, ...config };
  const [warnings, notes]: [string[], string[]] = [[], []];
  const ignore = (): void => undefined;
  const logger = {
    debug: ignore,
    error: ignore,
    info: (text: string) => void notes.push(text),
    warn: (text: string) => void warnings.push(text),
  };
  try {
    await createRouter(merged, hooks, {
      logger,
    }).close();
    return { warnings, notes, problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { warnings, notes, problems: error.problems };
    throw error;
  }
};

const withSource = (changes: Config): Config => ({ sources: { photos: source(changes) } });
const s3 = { bucket: 'media', region: 'eu-central-1' };
const key = { accessKeyId: 'one', secretAccessKey: 'two' };

describe('a plausible and wrong setting', () => {
  it.each<[string, () => Config, RegExp]>([
    ['a wildcard', () => ({ extensions: ['*'] }), /^extensions\.0: must be one extension/u],
    ['a list in one text', () => ({ extensions: ['jpg,png'] }), /^extensions\.0: must be one extension/u],
    [
      'a home directory of shells',
      () => withSource({ root: '~/photos' }),
      /^sources\.photos\.root: .*shells/u,
    ],
    ['a variable of shells', () => withSource({ root: '$HOME/x' }), /^sources\.photos\.root: .*"env"/u],
    [
      'an address of a file',
      () => withSource({ root: 'file:///srv/a' }),
      /^sources\.photos\.root: .*address/u,
    ],
    ['an address', () => withSource({ root: 's3://media/a' }), /^sources\.photos\.root: .*address/u],
    [
      'a number for Cache-Control',
      () => ({ serveCacheControl: '3600' }),
      /^serveCacheControl: .*max-age=3600/u,
    ],
    [
      'a pattern of names in a rule',
      () => ({ accessControl: [{ extensions: ['*.pdf'], FILE_REMOVE: false }] }),
      /^accessControl\.0\.extensions: must be extensions .*wildcard/u,
    ],
    [
      'extensions between other signs',
      () => ({ accessControl: [{ extensions: 'html;js', FILE_UPLOAD: false }] }),
      /^accessControl\.0\.extensions: must be extensions .*commas/u,
    ],
    [
      'a type in a rule',
      () => ({ accessControl: [{ extensions: 'image/png', FILES: false }] }),
      /extensions: /u,
    ],
    [
      'white space around a root',
      () => withSource({ root: `${folder}/photos\n` }),
      /^sources\.photos\.root: must not begin or end with white space/u,
    ],
    ['a misspelt directive', () => ({ serveCacheControl: 'maxage=3600' }), /^serveCacheControl: must be/u],
  ])('is refused with the way out: %s', async (_case, config, problem) => {
    const { problems } = await start(config());
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it.each<[string, () => Config, RegExp]>([
    ['no extension', () => ({ extensions: [] }), /^extensions: is empty/u],
    ['letters that changed places', () => ({ extensions: ['jepg'] }), /^extensions: has "jepg".*"jpeg"/u],
    ['bytes for megabytes', () => ({ maxUploadFileSize: 20 }), /^maxUploadFileSize: is 20 bytes.*"20mb"/u],
    ['the same as text', () => ({ maxUploadFileSize: '20' }), /^maxUploadFileSize: is 20 bytes/u],
    ['nothing', () => ({ maxUploadFileSize: '0' }), /^maxUploadFileSize: is 0 bytes/u],
    [
      'a quota of bytes',
      () => withSource({ quota: { bytes: 2 } }),
      /^sources\.photos\.quota\.bytes: is 2 bytes/u,
    ],
    ['archives of bytes', () => ({ zipLimits: { bytes: 4 } }), /^zipLimits\.bytes: is 4 bytes/u],
    ['memory of bytes', () => ({ imageMemory: '512' }), /^imageMemory: is 512 bytes/u],
    [
      'milliseconds for seconds',
      () => ({ timeoutLimit: 60_000 }),
      /^timeoutLimit: is in seconds.*16\.7 hours/u,
    ],
    [
      'seconds for milliseconds',
      () => ({ dynamicSourcesCache: { ttlMs: 60 } }),
      /ttlMs: is in milliseconds/u,
    ],
    [
      'a rate of milliseconds',
      () => ({ rateLimits: { uploads: { requests: 5, seconds: 60_000 } } }),
      /^rateLimits\.uploads\.seconds: is in seconds/u,
    ],
    [
      'a silent store',
      () => withSource({ storageAdapter: 'webdav', webdav: { url: 'http://127.0.0.1:1/', timeout: 30_000 } }),
      /^sources\.photos\.webdav\.timeout: is in seconds/u,
    ],
    ['empty pages', () => ({ countInChunk: 0 }), /^countInChunk: is 0: every listing is empty/u],
    ['years of other libraries', () => ({ datetimeFormat: 'yyyy-MM-dd' }), /^datetimeFormat: .*YYYY/u],
    ['weekdays for days', () => ({ datetimeFormat: 'dd.MM.YYYY' }), /^datetimeFormat: .*weekday/u],
    ['minutes for months', () => ({ datetimeFormat: 'YYYY-mm-DD' }), /^datetimeFormat: .*minutes/u],
    [
      'months for minutes',
      () => ({ datetimeFormat: 'YYYY-MM-DD HH:MM' }),
      /^datetimeFormat: .*minutes are mm/u,
    ],
    ['minutes in a date', () => ({ datetimeFormat: 'DD/mm/YYYY HH:mm' }), /^datetimeFormat: .*month is MM/u],
    [
      'a pattern of hidden names',
      () => ({ excludeDirectoryNames: ['*.tmp'] }),
      /^excludeDirectoryNames: has "\*\.tmp".*exactly/u,
    ],
    ['a word for all types', () => ({ extensions: ['all'] }), /^extensions: has "all"/u],
    [
      'a variable that is not set',
      () => withSource({ root: join(folder, 'undefined/photos') }),
      /^sources\.photos\.root: .*undefined.*exactly this name/u,
    ],
    [
      'a variable in a path',
      () => withSource({ root: join(folder, '${USER}') }),
      /^sources\.photos\.root: .*exactly this name/u,
    ],
    [
      'an audit file among the files of users',
      () => ({ audit: { file: join(folder, 'photos/log/audit.jsonl') } }),
      /^audit\.file: is inside the root of the source "photos": its users can read/u,
    ],
    [
      'data of the service among the files of users',
      () => ({ stateDirectory: join(folder, 'photos') }),
      /^stateDirectory: is inside the root of the source "photos"/u,
    ],
    ['the system', () => withSource({ root: '/etc' }), /^sources\.photos\.root: .*operating system/u],
    [
      'all proxies in the other form',
      () => ({ auth: { header: 'X-Role', from: ['::ffff:0:0/96'] } }),
      /^auth\.from: has 0\.0\.0\.0\/0/u,
    ],
    [
      'originals that another server publishes',
      () =>
        withSource({
          serve: 'off',
          baseurl: '/files/',
          uploadImages: { metadata: 'strip-location', keepOriginal: 'originals' },
        }),
      /^sources\.photos\.uploadImages\.keepOriginal: .*"\.originals"/u,
    ],
    [
      'a format that is not allowed',
      () => ({ extensions: ['jpg'], uploadImages: { format: 'webp' } }),
      /^sources\.photos\.uploadImages\.format: .*Add "webp" to extensions/u,
    ],
    [
      'a folder of people',
      () => ({ thumbFolderName: 'photos' }),
      /^thumbFolderName: .*every folder of that name/u,
    ],
    [
      'a program',
      () => withSource({ root: join(folder, 'app') }),
      /^sources\.photos\.root: .*holds package\.json.*everybody can download it/u,
    ],
    ['the whole disk', () => withSource({ root: '/' }), /^sources\.photos\.root: .*whole file system/u],
    [
      'what the system is configured with',
      () => withSource({ root: '/etc/ssl' }),
      /\.root: .*operating system/u,
    ],
    ['a home', () => withSource({ root: homedir() }), /^sources\.photos\.root: /u],
    [
      'where the service runs',
      () => withSource({ root: '.', serve: 'off', baseurl: '/x/' }),
      /\.photos\.root: /u,
    ],
    [
      'all proxies',
      () => ({ auth: { header: 'X-Role', from: ['0.0.0.0/0'] } }),
      /^auth\.from: .*0\.0\.0\.0\/0/u,
    ],
    [
      'a header of all requests',
      () => ({ auth: { header: 'Host', from: ['::1'] } }),
      /^auth\.header: .*"Host"/u,
    ],
    ['all clients as proxies', () => ({ trustedProxies: ['::/0'] }), /^trustedProxies: .*::\/0/u],
    [
      'limits behind a proxy',
      () => ({
        auth: { header: 'X-Role', from: ['10.0.0.1'] },
        rateLimits: { uploads: { requests: 5, seconds: 60 } },
      }),
      /^trustedProxies: is empty.*\["10\.0\.0\.1"\]/u,
    ],
    [
      'origins for nothing',
      () => ({ allowedOrigins: ['https://a.example'] }),
      /^allowedOrigins: has no effect/u,
    ],
    ['an address of old', () => ({ publicUrl: 'http://www.example.com/x/' }), /^publicUrl: is not https/u],
    [
      'a hook without https',
      () => ({
        stateDirectory: join(folder, 'state'),
        webhooks: [{ url: 'http://hooks.example/', secret: 's'.repeat(32) }],
      }),
      /^webhooks\.0\.url: is not https/u,
    ],
    [
      'an unknown region',
      () => withSource({ storageAdapter: 's3', s3: { ...s3, credentials: key, region: 'eu-centrl-1' } }),
      /^sources\.photos\.s3\.region: "eu-centrl-1"/u,
    ],
    [
      'a bucket in the address',
      () =>
        withSource({
          storageAdapter: 's3',
          s3: { ...s3, credentials: key, endpoint: 'https://media.s3.example' },
        }),
      /^sources\.photos\.s3\.endpoint: holds the name of the bucket/u,
    ],
    [
      'options of another adapter',
      () => withSource({ s3 }),
      /^sources\.photos\.s3: has no effect.*"storageAdapter": "s3"/u,
    ],
    [
      'redirects of a source that serves nothing',
      () => withSource({ serve: 'off', baseurl: 'https://files.example/', redirectMoved: {} }),
      /^sources\.photos\.redirectMoved: has no effect.*"serve": "public"/u,
    ],
    [
      'the source in a rule',
      () => ({ accessControl: [{ path: '/photos/private', FILES: false }] }),
      /^accessControl\.0\.path: .*Write "\/private"/u,
    ],
    [
      'the root in a rule',
      () => ({ accessControl: [{ path: join(folder, 'photos/private'), FILES: false }] }),
      /^accessControl\.0\.path: .*Write "\/private"/u,
    ],
    [
      'a link in a rule',
      () => ({ accessControl: [{ path: '/file/photos/private', FILES: false }] }),
      /^accessControl\.0\.path: .*Write "\/private"/u,
    ],
    [
      'a source with a colon in a rule',
      () => ({ accessControl: [{ path: 'photos:/private', FILES: false }] }),
      /^accessControl\.0\.path: .*Write "\/private"/u,
    ],
    [
      'two roles in one',
      () => ({ accessControl: [{ role: 'editor,admin', FILES: false }] }),
      /^accessControl\.0\.role: .*one role/u,
    ],
    [
      'a misspelt role',
      () => ({
        accessControl: [
          { role: 'editor', FILE_REMOVE: true },
          { role: 'editro', FILE_MOVE: false },
        ],
      }),
      /^accessControl\.1\.role: is "editro", and another rule says "editor"/u,
    ],
    [
      'a general rule after the special one',
      () => ({ accessControl: [{ role: 'editor', FILE_REMOVE: true }, { FILE_REMOVE: false }] }),
      /^accessControl\.0: never decides: accessControl\.1 /u,
    ],
    [
      'a rule about all after the special one',
      () => ({ accessControl: [{ role: 'editor', FILE_REMOVE: true }, { CHANGE: false }] }),
      /^accessControl\.0: never decides: accessControl\.1 /u,
    ],
    [
      'a rule of nothing',
      () => ({ accessControl: [{ role: 'guest' }] }),
      /^accessControl\.0: names no action/u,
    ],
    [
      'readers who may edit pictures',
      () => ({ accessControl: [{ FILE_UPLOAD: false, FILE_REMOVE: false }] }),
      /^accessControl: the role "guest" may neither upload.*imageSave.*"CHANGE": false/u,
    ],
    [
      'readers of one folder who may edit its pictures',
      () => ({ accessControl: [{ path: '/archive', FILE_UPLOAD: false, FILE_REMOVE: false }] }),
      /^accessControl: the role "guest" may neither upload nor remove files in "\/archive".*imageSave/u,
    ],
  ])('is accepted with a line in the log: %s', async (_case, config, warning) => {
    const hooks = 'auth' in config() ? {} : member;
    const { problems, warnings } = await start(config(), hooks);
    expect(problems).toEqual([]);
    expect(warnings).toContainEqual(expect.stringMatching(warning));
  });

  it('is named without a login', async () => {
    const rule = { accessControl: [{ role: 'guest' }] };
    expect((await start(rule, {})).warnings).toContainEqual(
      expect.stringMatching(/^accessControl: without any login, every request may: .*fileRemove/u),
    );
    const protectedSource = withSource({ serve: 'protected' });
    expect((await start(protectedSource, {})).warnings).toContainEqual(
      expect.stringMatching(/^sources\.photos\.serve: .*no login/u),
    );
    const other = { accessControl: [{ role: 'editor', FILE_REMOVE: true }] };
    expect((await start(other, {})).warnings).toContainEqual(
      expect.stringMatching(/^accessControl\.0\.role: is "editor", which no request has/u),
    );
  });

  it.each<[string, () => Config]>([
    ['extensions of other programs', () => ({ extensions: ['jpg', 'fig', 'heif', 'jsonl', 'PNG', 'pgn'] })],
    [
      'roles that are numbers',
      () => ({ accessControl: ['12', '21'].map((role) => ({ role, FILES: true })) }),
    ],
    ['a time before the day', () => ({ datetimeFormat: 'HH.mm DD.MM.YYYY' })],
    ['minutes alone', () => ({ datetimeFormat: 'k:mm a' })],
    ['thumbnails of a file host', () => ({ thumbFolderName: '@eaDir' })],
    [
      'a folder named like a source',
      () => ({ sources: { files: source() }, accessControl: [{ path: '/files', FILE_REMOVE: false }] }),
    ],
    [
      'a store named like its bucket',
      () =>
        withSource({
          storageAdapter: 's3',
          s3: { ...s3, credentials: key, endpoint: 'https://media.example.com', forcePathStyle: true },
        }),
    ],
    [
      'readers of one folder',
      () => ({
        accessControl: [
          { extensions: 'pdf, PNG', FILE_MOVE: true },
          { path: '/archive', CHANGE: false },
        ],
      }),
    ],
    [
      'a rule about one action after the one about all',
      () => ({
        accessControl: [{ CHANGE: false }, { role: 'editor', CHANGE: true }, { FILE_REMOVE: false }],
      }),
    ],
    [
      'originals in a folder that servers hide',
      () =>
        withSource({
          serve: 'off',
          baseurl: '/files/',
          uploadImages: { metadata: 'strip', keepOriginal: '.originals' },
        }),
    ],
    [
      'a proxy as sockets name it',
      () => ({ trustedProxies: ['::ffff:127.0.0.1', '::ffff:10.0.0.0/104', 'fd00::/8'] }),
    ],
  ])('is told apart from right ones: %s', async (_case, config) => {
    await mkdir(join(folder, 'photos', 'files'), { recursive: true });
    expect(await start({ extensions: ['jpg'], ...config() })).toEqual({
      warnings: [],
      notes: [],
      problems: [],
    });
  });

  it('is told apart from careful ones', async () => {
    const { warnings, notes, problems } = await start({
      extensions: ['jpg', 'webp', 'step'],
      datetimeFormat: 'DD.MM.YYYY, HH:mm [by]',
      audit: { file: join(folder, 'audit.jsonl') },
      thumbFolderName: '.thumbs',
      maxImageWidth: 1900,
      allowCrossOrigin: true,
      allowedOrigins: ['https://www.example.com'],
      serveCacheControl: 'Public, max-age=60, stale-while-revalidate=600',
      uploadImages: { format: 'webp' },
      accessControl: [
        { FILE_REMOVE: false, FILE_MOVE: false },
        { path: '/private', FILE_REMOVE: false },
        { role: 'editor', FILE_REMOVE: true },
        { role: 'editor', path: '/archive', FILE_REMOVE: false },
        { role: 'editors', FILE_MOVE: true },
      ],
    });
    expect({ warnings, notes, problems }).toEqual({ warnings: [], notes: [], problems: [] });
  });
});

describe('settings that are accepted for compatibility', () => {
  it('are named in one line of information', async () => {
    const { warnings, notes } = await start({
      extensions: ['jpg'],
      maxImageWidth: 800,
      allowReplaceSourceFile: false,
      defaultPermission: 493,
      pdf: { paper: { format: 'A3' } },
      sources: { photos: source({ memoryLimit: '1G' }) },
    });
    expect(warnings).toEqual([]);
    expect(notes).toEqual([
      'Accepted for compatibility, without effect: defaultPermission, allowReplaceSourceFile, maxImageWidth, ' +
        'pdf.paper, sources.photos.memoryLimit.',
    ]);
  });
});
