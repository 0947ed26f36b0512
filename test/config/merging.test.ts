import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { load, loadOne, problemsOf, source } from './load.ts';

describe('merging a configuration with the defaults', () => {
  it('makes paths absolute, because the process may change its directory later', () => {
    const { settings } = load({
      stateDirectory: 'state',
      audit: { file: 'logs/audit.log' },
      tus: { directory: 'parts' },
    });
    expect(settings).toMatchObject({
      stateDirectory: resolve('state'),
      audit: { file: resolve('logs/audit.log') },
      tus: { directory: resolve('parts') },
    });
  });

  it('starts with the defaults of the protocol when nothing is written', () => {
    const { settings } = load();
    expect(settings).toMatchObject({
      debug: true,
      title: '',
      defaultFilesKey: 'default',
      dynamicSourcesCache: { max: 200, ttlMs: 60_000 },
      sourceClassName: 'FileSystem',
      maxUploadFileSize: 8 * 1024 * 1024,
      maxFileSize: 8 * 1024 * 1024,
      saveSameFileNameStrategy: 'addNumber',
      datetimeFormat: 'M/D/YYYY h:mm:ss A',
      defaultSortBy: 'changed-desc',
      countInChunk: 1_000_000,
      excludeDirectoryNames: ['.tmb', '.quarantine'],
      defaultPermission: 0o775,
      allowReplaceSourceFile: true,
      imageExtensions: ['jpg', 'png', 'gif', 'jpeg', 'bmp', 'svg', 'ico', 'webp'],
      quality: 90,
      maxImageWidth: 1900,
      maxImageHeight: 1900,
      createThumb: true,
      thumbSize: 250,
      thumbFolderName: '_thumbs',
      safeThumbsCountInOneTime: 20,
      generateSvgThumbs: true,
      svgThumbWidth: 100,
      svgThumbHeight: 100,
      accessControl: [],
      defaultRole: 'guest',
      allowCrossOrigin: false,
      allowedOrigins: null,
      onlyPOST: false,
      refuseCrossSite: false,
      errorHttpStatus: true,
      allowPrivateNetworkUploads: false,
      timeoutLimit: 60,
      memoryLimit: '256M',
      documents: { browserSandbox: 'auto' },
      pdf: {
        isRemoteEnabled: true,
        defaultFont: 'serif',
        paper: { format: 'A4', page_orientation: 'portrait' },
      },
    });
    expect(settings.extensions).toContain('html');
    expect(settings.extensions).toContain('odp');
  });

  it.each([
    [
      'a nested object key by key',
      { pdf: { isRemoteEnabled: false } },
      'pdf',
      { isRemoteEnabled: false, defaultFont: 'serif' },
    ],
    [
      'an object in a nested object',
      { pdf: { paper: { format: 'A3' } } },
      'pdf',
      { paper: { format: 'A3', page_orientation: 'portrait' } },
    ],
    [
      'the cache of tenants',
      { dynamicSourcesCache: { max: 5 } },
      'dynamicSourcesCache',
      { max: 5, ttlMs: 60_000 },
    ],
  ])('merges %s', (_case, input, key, expected) => {
    expect(load(input).settings).toMatchObject({ [key]: expected });
  });

  it('replaces lists as a whole', () => {
    const { settings } = load({ extensions: ['PNG'], excludeDirectoryNames: [], imageExtensions: ['png'] });
    expect(settings.extensions).toEqual(['png']);
    expect(settings.excludeDirectoryNames).toEqual([]);
    expect(settings.imageExtensions).toEqual(['png']);
  });

  it('keeps the default where null is written, at every depth', () => {
    const nothing = {
      extensions: null,
      quality: null,
      thumbSize: undefined,
      pdf: { isRemoteEnabled: null, paper: { format: null } },
      dynamicSourcesCache: null,
      sources: null,
      accessControl: [{ role: null, FILES: null, FOLDERS: false }],
    };
    const { settings, sources } = load(nothing);
    const { accessControl, ...rest } = load().settings;
    expect(accessControl).toEqual([]);
    expect(settings).toEqual({ ...rest, accessControl: [{ FOLDERS: false }] });
    expect(sources.map(({ key }) => key)).toEqual(['default']);
  });

  it('replaces the default source as soon as sources are written, also by none', () => {
    expect(load({ sources: { photos: source() } }).sources.map(({ name }) => name)).toEqual(['photos']);
    expect(load({ sources: {} }).sources).toEqual([]);
  });

  it('accepts $schema and leaves it out', () => {
    expect(load({ $schema: './config.schema.json' }).settings).not.toHaveProperty('$schema');
  });

  it.each([
    ['100kb', 102_400],
    ['1.5MB', 1_572_864],
    ['1 GB', 1_073_741_824],
    ['12b', 12],
    ['8388608', 8_388_608],
    [8_388_608, 8_388_608],
  ])('reads the size %s', (written, bytes) => {
    expect(load({ maxUploadFileSize: written }).settings.maxUploadFileSize).toBe(bytes);
  });

  it('freezes what it returns at every depth, and neither keeps nor changes what was given', () => {
    const rule = { role: 'guest', FILES: false };
    const input = {
      extensions: ['png'],
      accessControl: [rule],
      sources: { photos: source({ extensions: ['gif'] }) },
    };
    const before = structuredClone(input);
    const config = load(input);
    expect(input).toEqual(before);
    input.extensions.push('html');
    rule.FILES = true;
    expect(config.settings.extensions).toEqual(['png']);
    expect(config.settings.accessControl).toEqual([{ role: 'guest', FILES: false }]);

    const thaw = (value: unknown): unknown[] =>
      typeof value !== 'object' || value === null
        ? []
        : [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(thaw)];
    expect(thaw(config)).toEqual([]);
    expect(thaw(load())).toEqual([]);
  });
});

describe('a source', () => {
  it('has the global settings, with its own laid over them', () => {
    const { settings } = loadOne(
      { quality: 70, pdf: { defaultFont: 'sans' }, extensions: ['png', 'jpg'] },
      { thumbSize: 80, pdf: { isRemoteEnabled: false }, extensions: ['PDF'], maxUploadFileSize: '1kb' },
    );
    expect(settings).toMatchObject({
      quality: 70,
      thumbSize: 80,
      extensions: ['pdf'],
      maxUploadFileSize: 1024,
    });
    expect(settings.pdf).toMatchObject({ defaultFont: 'sans', isRemoteEnabled: false });
  });

  it('keeps the global value, not the default, where it writes null', () => {
    const { settings } = loadOne(
      { quality: 70, pdf: { isRemoteEnabled: false } },
      { quality: null, pdf: { isRemoteEnabled: null, defaultFont: 'sans' } },
    );
    expect(settings.quality).toBe(70);
    expect(settings.pdf).toMatchObject({ isRemoteEnabled: false, defaultFont: 'sans' });
  });

  it('does not change the settings of its neighbours', () => {
    const { settings, sources } = load({ sources: { a: source({ quality: 10 }), b: source() } });
    expect([...sources.map((one) => one.settings.quality), settings.quality]).toEqual([10, 90, 90]);
  });

  it.each([
    ['onlyPOST', true],
    ['allowCrossOrigin', true],
    ['allowedOrigins', ['https://app.example.com']],
    ['accessControl', [{ FILES: false }]],
    ['defaultRole', 'admin'],
    ['errorHttpStatus', false],
    ['debug', false],
    ['dynamicSourcesCache', { max: 1 }],
    ['documents', { browserSandbox: 'off' }],
  ])('may write %s, which acts before a source is known, without effect', (key, value) => {
    expect(loadOne({}, { [key]: value }).settings).toEqual(load().settings);
  });

  it('is called by its key unless it has a name', () => {
    expect(loadOne({})).toMatchObject({ key: 'photos', name: 'photos' });
    expect(loadOne({}, { name: 'Holiday' })).toMatchObject({ key: 'photos', name: 'Holiday' });
    expect(loadOne({}, { name: null })).toMatchObject({ key: 'photos', name: 'photos' });
  });

  it('gets the slash at the end of baseurl', () => {
    expect(loadOne({}, { baseurl: 'http://cdn.example.com' }).baseurl).toBe('http://cdn.example.com/');
    expect(loadOne({}, { baseurl: 'HTTPS://cdn.example.com:8443/a%20b/é' }).baseurl).toMatch(/é\/$/u);
  });

  it('has no other public addresses than those of baseurlAliases', () => {
    expect(loadOne({}).baseurlAliases).toEqual([]);
    expect(loadOne({}, { baseurlAliases: ['http://www.example.com/a'] }).baseurlAliases).toEqual([
      'http://www.example.com/a/',
    ]);
  });

  it('has its root taken from the working directory when it is local, and as it is elsewhere', () => {
    expect(loadOne({}, { root: 'data/photos' }).root).toBe(resolve('data/photos'));
    expect(loadOne({}, { root: 'team', storageAdapter: 's3', s3: { bucket: 'b' } }).root).toBe('team');
    expect(loadOne({}, { root: null, storageAdapter: 'vault' }).root).toBeUndefined();
  });

  it('hands the options to the schema of its adapter, or as they are where it has none', () => {
    const cloud = loadOne({}, { storageAdapter: 's3', s3: { bucket: 'b', prefix: null } });
    expect(cloud.adapterOptions).toEqual({ bucket: 'b', region: 'us-east-1' });
    const client = new (class {
      readonly open = true;
    })();
    const vault = loadOne({}, { storageAdapter: 'vault', vault: { client } });
    expect((vault.adapterOptions as { client: unknown }).client).toBe(client);
    expect(Object.isFrozen(client)).toBe(false);
  });

  it('may keep the options of another adapter of the protocol', () => {
    expect(
      problemsOf({ sources: { photos: source({ s3: { bucket: 7 }, webdav: { url: 'https://x' } }) } }),
    ).toEqual([]);
  });
});

describe('the default source', () => {
  it('comes from the environment', () => {
    const environment = {
      SOURCE_NAME: 'Team',
      SOURCE_ROOT: 'team',
      SOURCE_BASEURL: 'https://cdn.example.com/team',
    };
    expect(load({ quality: 50 }, environment).sources).toMatchObject([
      {
        key: 'default',
        name: 'default',
        title: 'Team',
        root: resolve('team'),
        baseurl: 'https://cdn.example.com/team/',
        storageAdapter: 'local',
        settings: { quality: 50 },
      },
    ]);
  });

  it('has defaults where the environment says nothing, or empty text', () => {
    const expected = { title: 'Files', root: resolve('files'), baseurl: 'http://localhost:8080/files/' };
    expect(load().sources).toMatchObject([expected]);
    expect(load({}, { SOURCE_NAME: '', SOURCE_ROOT: '', SOURCE_BASEURL: '' }).sources).toMatchObject([
      expected,
    ]);
  });

  it('stops the start by the name of the variable that is wrong', () => {
    expect(problemsOf({}, { SOURCE_BASEURL: 'files/' })).toEqual([
      expect.stringMatching(/^SOURCE_BASEURL: must be an absolute http or https URL .*"files\/"/u),
    ]);
  });

  it('is not looked at when there are sources', () => {
    expect(problemsOf({ sources: {} }, { SOURCE_BASEURL: 'nonsense' })).toEqual([]);
  });
});
