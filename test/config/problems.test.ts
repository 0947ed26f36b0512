import { describe, expect, it } from 'vitest';
import { ConfigError } from 'stowage';
import { loadAccessRules, loadSources } from '#internals';
import { factories, load, problemsOf, source } from './load.ts';

const json = (text: string): unknown => JSON.parse(text);

describe('a wrong configuration', () => {
  it.each([
    ['text for a number', { quality: '90' }, 'quality: must be a whole number, not the text "90"'],
    ['a fraction', { thumbSize: 2.5 }, 'thumbSize: must be a whole number, not the number 2.5'],
    ['too much', { quality: 101 }, 'quality: must be at most 100, not the number 101'],
    [
      'more tenants than memory',
      { dynamicSourcesCache: { max: 1e10 } },
      'dynamicSourcesCache.max: must be at most 1000000, not the number 10000000000',
    ],
    [
      'longer than a timer runs',
      { dynamicSourcesCache: { ttlMs: 2_147_483_648 } },
      'dynamicSourcesCache.ttlMs: must be at most 2147483000, not the number 2147483648',
    ],
    ['nothing of something', { timeoutLimit: 0 }, 'timeoutLimit: must be greater than 0, not the number 0'],
    ['a negative page', { countInChunk: -1 }, 'countInChunk: must be at least 0, not the number -1'],
    ['text for a switch', { onlyPOST: 'true' }, 'onlyPOST: must be true or false, not the text "true"'],
    ['a number for text', { title: 5 }, 'title: must be text, not the number 5'],
    ['a text for a list', { extensions: 'png' }, 'extensions: must be a list, not the text "png"'],
    ['an entry of another type', { extensions: ['png', 7] }, 'extensions.1: must be text, not the number 7'],
    ['null in a list', { extensions: ['png', null] }, 'extensions.1: must be text, not null'],
    [
      'a dot before an extension',
      { extensions: ['.png'] },
      'extensions.0: must be an extension without a dot, not the text ".png"',
    ],
    [
      'a size without meaning',
      { maxUploadFileSize: '8 apples' },
      'maxUploadFileSize: must be a number of bytes, or a number with b, kb, mb or gb, not the text "8 apples"',
    ],
    [
      'a size of another type',
      { maxFileSize: true },
      'maxFileSize: must be a number of bytes, or a number with b, kb, mb or gb, not true',
    ],
    [
      'an unknown strategy',
      { saveSameFileNameStrategy: 'overwrite' },
      'saveSameFileNameStrategy: must be one of "addNumber", "replace", "error", not the text "overwrite"',
    ],
    [
      'an unknown order',
      { defaultSortBy: 'date' },
      'defaultSortBy: must be one of "name-asc", "name-desc", "changed-asc", "changed-desc", "size-asc", "size-desc", not the text "date"',
    ],
    [
      'a name that no folder should have',
      { imagePresets: { 'a/b': { width: 5 } } },
      'imagePresets.a/b: the name must be of 1 to 32 letters, digits and hyphens, not the text "a/b"',
    ],
    [
      'a form without a size',
      { imagePresets: { card: {} } },
      'imagePresets.card: must have a width and a height (`inside`: one of them)',
    ],
    ['a list for an object', { pdf: [] }, 'pdf: must be an object, not a list'],
    [
      'a wrong nested value',
      { pdf: { isRemoteEnabled: 1 } },
      'pdf.isRemoteEnabled: must be true or false, not the number 1',
    ],
    [
      'a wrong value two levels down',
      { pdf: { paper: { format: 4 } } },
      'pdf.paper.format: must be text, not the number 4',
    ],
    [
      'a name of internal folders',
      { thumbFolderName: '.Stowage-about' },
      'thumbFolderName: must not begin with ".stowage-", as internal folders do',
    ],
    [
      'a path for a name',
      { thumbFolderName: '../thumbs' },
      'thumbFolderName: must be the name of a file or folder, without a path, not the text "../thumbs"',
    ],
    [
      'an origin with a path',
      { allowedOrigins: ['https://a.example/'] },
      'allowedOrigins.0: must be an origin such as https://www.example.com (scheme, host and port only), not the text "https://a.example/"',
    ],
    [
      'an origin with a wildcard',
      { allowedOrigins: ['*'] },
      'allowedOrigins.0: must be an origin such as https://www.example.com (scheme, host and port only), not the text "*"',
    ],
    [
      'sources in a list',
      { sources: [] },
      'sources: must be an object of sources by their names, not a list',
    ],
    [
      'a key of a source at the top',
      { storageAdapter: 's3' },
      'storageAdapter: belongs to a source: write it under sources.<name>',
    ],
    [
      'a network that is shortened',
      { trustedProxies: ['fd00::/8', '10/8'] },
      'trustedProxies.1: must be an address or a network such as 127.0.0.1 or 10.0.0.0/8, or unix, not the text "10/8"',
    ],
    [
      'an address with a number in octal',
      { trustedProxies: ['010.0.0.1'] },
      'trustedProxies.0: must be an address or a network such as 127.0.0.1 or 10.0.0.0/8, or unix, not the text "010.0.0.1"',
    ],
    [
      'a password that would not be sent',
      {
        stateDirectory: '/tmp',
        webhooks: [{ url: 'https://bob:hidden@a.example/', secret: 's'.repeat(32) }],
      },
      'webhooks.0.url: must not hold a user name or password',
    ],
  ])('is refused for %s', (_case, input, problem) => {
    expect(problemsOf(input)).toEqual([problem]);
  });

  it.each([[[]], ['text'], [7], [true]])('is rejected when it is not an object: %j', (input) => {
    expect(problemsOf(input)).toEqual([expect.stringMatching(/^configuration: must be an object, not /u)]);
  });

  it.each([
    [{ thumbsize: 1 }, 'thumbsize: is not a known key; did you mean "thumbSize"?'],
    [
      { 'max-upload-file-size': 1 },
      'max-upload-file-size: is not a known key; did you mean "maxUploadFileSize"?',
    ],
    [{ qaulity: 1 }, 'qaulity: is not a known key; did you mean "quality"?'],
    [{ source: {} }, 'source: is not a known key; did you mean "sources"?'],
    [
      { pdf: { isRemoteEnable: true } },
      'pdf.isRemoteEnable: is not a known key; did you mean "isRemoteEnabled"?',
    ],
    [
      { dynamicSourcesCache: { ttl: 1 } },
      expect.stringMatching(/^dynamicSourcesCache\.ttl: is not a known key/u),
    ],
    [
      { imagePresets: { card: { width: 1, height: 1, widht: 1 } } },
      'imagePresets.card.widht: is not a known key; did you mean "width"?',
    ],
    [
      {
        stateDirectory: '/tmp',
        webhooks: [{ url: 'https://a.example/', secret: 's'.repeat(32), evnts: [] }],
      },
      'webhooks.0.evnts: is not a known key; did you mean "events"?',
    ],
    [{ colour: 'red' }, 'colour: is not a known key'],
    [{ colour: null }, 'colour: is not a known key'],
    [
      { trash: { days: 7 } },
      'trash.days: is not a known key; known keys: retentionDays, maxBytes, keepReplaced',
    ],
    [
      { pdf: { paper: { size: null } } },
      'pdf.paper.size: is not a known key; known keys: format, page_orientation',
    ],
    [json('{"__proto__": {"debug": false}}'), '__proto__: is not a known key'],
    [json('{"constructor": {"prototype": {}}}'), 'constructor: is not a known key'],
    [json('{"imagePresets": {"__proto__": {"width": 5}}}'), 'imagePresets.__proto__: is not a possible name'],
  ])('names the key that is meant by an unknown one: %j', (input, problem) => {
    expect(problemsOf(input)).toEqual([problem]);
  });

  it('is refused with every problem at once', () => {
    const problems = problemsOf({
      quality: '90',
      colour: 'red',
      pdf: { isRemoteEnabled: 'no' },
      accessControl: [{ rol: 'guest' }],
      sources: {
        photos: source({ thumbSize: 'big', title: null }),
        cloud: { storageAdapter: 's3', title: 'C' },
      },
    });
    expect(problems.map((problem) => problem.slice(0, problem.indexOf(':'))).sort()).toEqual([
      'accessControl.0.rol',
      'colour',
      'pdf.isRemoteEnabled',
      'quality',
      'sources.cloud.baseurl',
      'sources.cloud.s3',
      'sources.photos.thumbSize',
      'sources.photos.title',
    ]);
  });

  it('is refused without problems that other settings do not have', () => {
    const sources = { photos: { title: 'Photos', root: '/srv/photos' } };
    expect(problemsOf({ serve: 'public', quality: 500, sources })).toEqual([
      'quality: must be at most 100, not the number 500',
    ]);
    expect(problemsOf({ serve: 'public', uploadImages: { keepOriginal: true }, sources })).toEqual([
      'uploadImages.keepOriginal: must be the name of a folder, without a path, or false, not true',
    ]);
    expect(
      problemsOf({ serve: 'public', uploadImages: { keepOriginal: '.stowage-trash' }, sources }),
    ).toEqual(['uploadImages.keepOriginal: must not begin with ".stowage-", as internal folders do']);
  });

  it('says so in the message of the error', () => {
    const start = (): unknown => load({ quality: '90', sources: { photos: source({ thumbSize: [] }) } });
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(
      /quality: must be.*\n.*sources\.photos\.thumbSize: must be a whole number, not a list/u,
    );
  });
});

describe('a wrong source', () => {
  it.each([
    ['no title', { title: undefined }, 'title: is required'],
    ['a title of another type', { title: 5 }, 'title: must be text, not the number 5'],
    ['no baseurl', { baseurl: null }, 'baseurl: is required unless `serve` is set'],
    ['an empty name', { name: '' }, 'name: must not be empty'],
    ['no root, being local', { root: undefined }, 'root: is required with storageAdapter "local"'],
    ['an empty root', { root: '' }, 'root: must not be empty'],
    ['a root that no system knows', { root: '/srv/a\0b' }, 'root: must not hold a NUL character'],
    [
      'an unknown adapter',
      { storageAdapter: 's4' },
      'storageAdapter: unknown storage adapter "s4"; did you mean "s3"? (known: "local", "s3", "vault")',
    ],
    ['s3 without options', { storageAdapter: 's3' }, 's3: is required with storageAdapter "s3"'],
    ['s3 without a bucket', { storageAdapter: 's3', s3: {} }, 's3.bucket: is required'],
    ['an override out of range', { quality: 0 }, 'quality: must be at least 1, not the number 0'],
    ['a wrong override without effect', { onlyPOST: 1 }, 'onlyPOST: must be true or false, not the number 1'],
    [
      'a wrong nested override',
      { pdf: { isRemoteEnabled: 'x' } },
      'pdf.isRemoteEnabled: must be true or false, not the text "x"',
    ],
    [
      'an unknown key',
      { baseUrl: 'https://a.example/' },
      'baseUrl: is not a known key; did you mean "baseurl"?',
    ],
    [
      'sources of its own',
      { sources: {} },
      'sources: belongs to the top of the configuration, not into a source',
    ],
  ])('is refused by its name for %s', (_case, changes, problem) => {
    expect(problemsOf({ sources: { photos: source(changes) } })).toEqual([`sources.photos.${problem}`]);
  });

  it.each([
    'files/',
    '/\\files/',
    'cdn.example.com/',
    '//cdn.example.com/',
    'ftp://cdn.example.com/',
    'http:cdn.example.com',
    'https://',
    'https:///files/',
    'https://cdn.example.com\\a',
    'https://cdn example.com/',
    '',
    'javascript:alert(1)',
  ])('is refused for a baseurl that is neither an http(s) URL nor a path: %j', (baseurl) => {
    expect(problemsOf({ sources: { photos: source({ baseurl }) } })).toEqual([
      expect.stringMatching(/^sources\.photos\.baseurl: must be an absolute http or https URL/u),
    ]);
  });

  it('is refused for a password, a query or a fragment in baseurl, without repeating the password', () => {
    const [password] = problemsOf({
      sources: { photos: source({ baseurl: 'https://bob:secret@a.example/' }) },
    });
    expect(password).toBe('sources.photos.baseurl: must not hold a user name or password');
    expect(problemsOf({ sources: { photos: source({ baseurl: 'https://bob@a.example/' }) } })).toEqual([
      'sources.photos.baseurl: must not hold a user name or password',
    ]);
    for (const baseurl of ['https://a.example/?path=/', 'https://a.example/#/']) {
      expect(problemsOf({ sources: { photos: source({ baseurl }) } })).toEqual([
        'sources.photos.baseurl: must not hold a query or a fragment',
      ]);
    }
  });

  it('is refused for an alias of baseurl that could not be a baseurl', () => {
    const baseurlAliases = ['/photos/', 'photos/', 'https://bob@a.example/'];
    expect(problemsOf({ sources: { photos: source({ baseurlAliases }) } })).toEqual([
      'sources.photos.baseurlAliases.1: must be an absolute http or https URL such as https://cdn.example.com/files/, or a path such as /files/, not the text "photos/"',
      'sources.photos.baseurlAliases.2: must not hold a user name or password',
    ]);
    expect(problemsOf({ baseurlAliases: [] })).toEqual([
      'baseurlAliases: belongs to a source: write it under sources.<name>',
    ]);
  });

  it.each([[null], ['text'], [[]]])('is rejected when it is not an object: %j', (value) => {
    expect(problemsOf({ sources: { photos: value } })).toEqual([
      expect.stringMatching(/^sources\.photos: (must be an object, not)/u),
    ]);
  });

  it('is refused when it shares its name or its key with another', () => {
    expect(problemsOf({ sources: { a: source({ name: 'b' }), b: source() } })).toEqual([
      'sources.b.name: "b" already stands for the source "a"',
    ]);
    expect(problemsOf({ sources: { a: source({ name: 'c' }), b: source({ name: 'c' }) } })).toEqual([
      'sources.b.name: "c" already stands for the source "a"',
    ]);
    expect(problemsOf({ sources: { a: source({ name: 'A' }), b: source({ name: 'B' }) } })).toEqual([]);
  });

  it('is rejected when no request could name it', () => {
    expect(problemsOf({ sources: { '': source() } })).toEqual([
      'sources..name: is required where the key is empty',
    ]);
    expect(problemsOf({ sources: { '': source({ name: 'photos' }) } })).toEqual([]);
  });

  it('is refused for a tenant as for the configuration', () => {
    const { settings } = load({ quality: 55 });
    const tenant = loadSources({ photos: source({ thumbSize: 70 }) }, settings, factories);
    expect(tenant).toMatchObject([{ name: 'photos', settings: { quality: 55, thumbSize: 70 } }]);
    expect(() => loadSources({ photos: source({ thumbSize: '70' }) }, settings, factories)).toThrow(
      /sources\.photos\.thumbSize: must be a whole number/u,
    );
    expect(() => loadSources(undefined, settings, factories)).toThrow(/sources: is required/u);
  });
});

describe('wrong access rules', () => {
  it.each([
    [{ rol: 'guest' }, 'rol: is not a known key; did you mean "role"?'],
    [{ Path: '/a' }, 'Path: is not a known key; did you mean "path"?'],
    [{ extension: 'png' }, 'extension: is not a known key; did you mean "extensions"?'],
    [{ fileRemove: false }, 'fileRemove: is not a known key; keys of actions are written like "FILE_REMOVE"'],
    [
      { allowFileRemove: false },
      'allowFileRemove: is not a known key; keys of actions are written like "FILE_REMOVE"',
    ],
    [
      { 'file-remove': false },
      'file-remove: is not a known key; keys of actions are written like "FILE_REMOVE"',
    ],
    [json('{"__proto__": false}'), '__proto__: is not a known key'],
    [{ FILES: 'no' }, 'FILES: must be true or false, not the text "no"'],
    [{ role: 1 }, 'role: must be text, not the number 1'],
    [{ role: '', FILES: false }, 'role: must be a role, not empty text'],
    [{ role: ' ', FILES: false }, 'role: must be a role, not the text " "'],
    [{ path: '../private' }, 'path: must be a folder inside the source, not the text "../private"'],
    [{ path: '/private/*' }, 'path: must be a folder, without wildcards, not the text "/private/*"'],
    [{ extensions: 4 }, 'extensions: must be text or a list, not the number 4'],
    [{ extensions: ['png', 4] }, 'extensions.1: must be text, not the number 4'],
  ])('are refused: %j', (rule, problem) => {
    const rules = [{ FILES: true }, rule];
    expect(problemsOf({ accessControl: rules })).toEqual([`accessControl.1.${problem}`]);
    expect(problemsOf({ sources: { photos: source({ accessControl: rules }) } })).toEqual([
      `sources.photos.accessControl.1.${problem}`,
    ]);
    expect(() => loadAccessRules(rules)).toThrow(ConfigError);
  });

  it('are rejected when they are not a list of objects', () => {
    expect(problemsOf({ accessControl: {} })).toEqual(['accessControl: must be a list, not an object']);
    expect(problemsOf({ accessControl: ['guest'] })).toEqual([
      'accessControl.0: must be an object, not the text "guest"',
    ]);
    expect(() => loadAccessRules('guest')).toThrow('accessControl: must be a list, not the text "guest"');
    expect(() => loadAccessRules(undefined)).toThrow('accessControl: is required');
  });

  it('may name actions that do not exist', () => {
    const rules = [{ role: 'guest', path: '/a/', extensions: 'png, jpg', FILE_ZIP2: false }];
    expect(load({ accessControl: rules }).settings.accessControl).toEqual(rules);
    expect(loadAccessRules(rules)).toEqual(rules);
  });
});

describe('a configuration that contains itself', () => {
  it('is refused for the key that does', () => {
    const photos = source();
    photos['s3'] = { bucket: 'b', photos };
    photos['storageAdapter'] = 's3';
    photos['sources'] = { photos };
    const config: Record<string, unknown> = { sources: { photos } };
    config['config'] = config;
    expect(problemsOf(config)).toEqual([
      'config: is not a known key',
      'sources.photos.sources: belongs to the top of the configuration, not into a source',
    ]);
    const rules: unknown[] = [];
    rules.push(rules);
    expect(() => loadAccessRules(rules)).toThrow('accessControl.0: must be an object, not a list');
  });
});

describe('a source whose files the service serves', () => {
  it.each([
    ['public files', { serve: 'public', baseurl: undefined }, []],
    ['a path for baseurl', { baseurl: '/photos/' }, []],
    [
      'signed files without a key',
      { serve: 'signed' },
      ['sources.photos.serve: needs a key: set signingSecret or STOWAGE_SIGNING_SECRET'],
    ],
    [
      'nginx without a location',
      { serve: 'public', delivery: 'x-accel-redirect' },
      [
        'sources.photos.deliveryPrefix: is required: the internal location of nginx, such as /internal/photos/',
      ],
    ],
    [
      'a redirect to a store without URLs',
      { serve: 'public', delivery: 'redirect' },
      [
        'sources.photos.delivery: "redirect" is for stores that give URLs of their own, and "local" gives none',
      ],
    ],
    ['a redirect where nothing is served', { delivery: 'redirect' }, []],
    [
      'a store elsewhere that a web server should send from',
      { serve: 'public', delivery: 'x-sendfile', storageAdapter: 's3', s3: { bucket: 'b' }, root: undefined },
      [
        'sources.photos.delivery: "x-sendfile" is for local sources: web servers send files of their own disk',
      ],
    ],
  ])('%s', (_case, changes, problems) => {
    expect(problemsOf({ sources: { photos: source(changes) } })).toEqual(problems);
  });

  it('is refused for a key that is too short, without repeating it', () => {
    const [problem, ...others] = problemsOf({ signingSecret: 'too-short-to-keep' });
    expect([problem, others]).toEqual([expect.stringContaining('signingSecret'), []]);
    expect(problem).not.toContain('too-short');
  });

  it('is refused for the wrong setting alone, not for what its default would lack', () => {
    const sources = { photos: source({ serve: 'signed', baseurl: undefined }) };
    expect(problemsOf({ signingSecret: 'too short', sources })).toEqual([
      expect.stringMatching(/^signingSecret: /u),
    ]);
    const unserved = { photos: source({ baseurl: undefined }) };
    expect(problemsOf({ serve: 'publik', sources: unserved })).toEqual([expect.stringMatching(/^serve: /u)]);
    const sent = { photos: source({ serve: 'public', delivery: 'x-accel-redirect' }) };
    expect(problemsOf({ deliveryPrefix: 5, sources: sent })).toEqual([
      expect.stringMatching(/^deliveryPrefix: /u),
    ]);
  });

  it('takes its keys from the environment', () => {
    const environment = { signingSecret: ['k'.repeat(32)] };
    const sources = { photos: source({ serve: 'signed', baseurl: undefined }) };
    expect(problemsOf({ sources }, environment)).toEqual([]);
  });
});
