import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApp } from 'stowage';
import {
  atOrigin,
  closed,
  examine,
  expectFinding,
  healthy,
  here,
  page,
  useFolders,
  withSource,
  type Config,
  type Row,
} from './doctor.ts';
import { hasClamd, MOST_STREAMED, needsClamd, startClamd } from '../protocol/clamd.ts';
import { redisMissing, startRedis } from '../operations/redis.ts';
import { answerAll, proxyTo, serveFolder } from './web-servers.ts';

useFolders();

const settings: readonly Row[] = [
  [
    'a program for thumbnails that is not there',
    () => ({ ...healthy(), thumbPrograms: { pdf: 'no-such-program' } }),
    'programs',
    'broken',
    /thumbnails \(pdf\): no-such-program cannot be run/u,
    /apt-get install poppler-utils/u,
  ],
  [
    'an audit file below a file',
    async () => {
      await writeFile(join(here.folder, 'audit'), '');
      return { ...healthy(), audit: { file: join(here.folder, 'audit/changes.jsonl') } };
    },
    'audit',
    'broken',
    /changes\.jsonl cannot be written: the service may not write to .*audit$/u,
    /^chown .* or correct audit\.file$/u,
  ],
  [
    'an audit file in a folder that is missing',
    () => ({ ...healthy(), audit: { file: join(here.folder, 'all logs/changes.jsonl') } }),
    'audit',
    'broken',
    /all logs\/changes\.jsonl cannot be written: there is no folder .*logs$/u,
    /^mkdir -p '.*all logs', or correct audit\.file$/u,
  ],
  [
    'a folder in place of the audit file',
    () => ({ ...healthy(), audit: { file: here.folder } }),
    'audit',
    'broken',
    /cannot be written/u,
    /or correct audit\.file$/u,
  ],
  [
    'a directory for parts and events that cannot be made',
    async () => {
      await writeFile(join(here.folder, 'state'), '');
      return { ...healthy(), stateDirectory: join(here.folder, 'state/of/stowage') };
    },
    'tus',
    'broken',
    /state\/of\/stowage\/tus cannot be written/u,
    /"tus": \{ "enabled": false \}$/u,
  ],
  [
    'a Redis that does not respond',
    () => ({ ...healthy(), redis: { url: 'redis://127.0.0.1:1' } }),
    'redis',
    'broken',
    /Redis cannot be used: .*ECONNREFUSED/u,
    /redis\.url/u,
  ],
  [
    'writing for everybody',
    () => ({ ...healthy(), accessControl: [] }),
    'strangers',
    'risk',
    /without any login: (?!.*trash).*fileRemove/u,
    /Set auth/u,
  ],
  [
    'one action for everybody',
    () => ({ ...healthy(), accessControl: [{ role: 'guest', FILE_REMOVE: false }] }),
    'strangers',
    'risk',
    /without any login: .*fileRename/u,
    /rules for the role/u,
  ],
  [
    'tokens that are optional',
    () => ({ ...healthy(), accessControl: [], auth: { jwt: { secret: 's'.repeat(32), optional: true } } }),
    'strangers',
    'risk',
    /without any login/u,
    /Set auth/u,
  ],
  [
    'pages of every site',
    () => ({ ...healthy(), allowCrossOrigin: true }),
    'settings',
    'risk',
    /pages of every origin may use the service/u,
    /docs\/configuration\.md/u,
  ],
  [
    'a proxy login without a guard',
    () => ({ ...healthy(), auth: { header: 'X-Role', from: ['127.0.0.1'] } }),
    'sites.cross-site',
    'risk',
    /pages of other sites may act/u,
    /"refuseCrossSite": true/u,
  ],
  [
    'a token in a cookie without a guard',
    () => ({ ...healthy(), auth: { jwt: { secret: 's'.repeat(32), cookie: 'session' } } }),
    'settings',
    'risk',
    /auth\.jwt\.cookie is set .*pages of other sites may act/u,
    /docs\/configuration\.md/u,
  ],
  [
    'a rule of no action',
    () => ({ ...healthy(), accessControl: [{ FILE_DELETE: false }] }),
    'settings',
    'risk',
    /no action has the key FILE_DELETE/u,
    /docs\/configuration\.md/u,
  ],
  [
    'a token that is meant for other applications',
    () => ({ ...healthy(), auth: { jwt: { jwksUrl: 'https://login.example/keys' } } }),
    'settings',
    'risk',
    /auth\.jwt\.audience is not set/u,
    /docs\/configuration\.md/u,
  ],
  [
    'a setting where it has no effect',
    () => withSource({ serve: 'public', onlyPOST: true }),
    'settings',
    'risk',
    /without effect in a source: onlyPOST/u,
    /docs\/configuration\.md/u,
  ],
  [
    'bytes for megabytes',
    () => ({ ...healthy(), maxUploadFileSize: 20 }),
    'settings',
    'risk',
    /maxUploadFileSize: is 20 bytes/u,
    /"20mb"/u,
  ],
  [
    'uploads that its own settings refuse',
    () => ({ ...healthy(), maxUploadFileSize: 20 }),
    'settings.upload',
    'broken',
    /refuses an upload/u,
    /maxUploadFileSize with a unit/u,
  ],
  [
    'no extension at all',
    () => ({ ...healthy(), extensions: [] }),
    'settings.upload',
    'broken',
    /refuses an upload/u,
    /"extensions": \["jpg"/u,
  ],
  [
    'listings that its own settings empty',
    () => ({ ...healthy(), countInChunk: 0 }),
    'settings.list',
    'broken',
    /does not show a file/u,
    /countInChunk/u,
  ],
  [
    'a root that holds the configuration',
    () => withSource({ root: here.folder, serve: 'public' }),
    'settings',
    'risk',
    /holds .*stowage\.json, the configuration/u,
    /folder of its own/u,
  ],
  [
    'pages that may be uploaded',
    async () => atOrigin(await serveFolder(here.root), { extensions: ['html', 'txt'] }),
    'settings',
    'risk',
    /the extensions allow html/u,
    /docs\/configuration\.md/u,
  ],
  [
    'a misspelt key',
    () => ({ ...healthy(), qualty: 80 }),
    'configuration',
    'broken',
    /qualty: is not a known key/u,
    /docs\/configuration\.md/u,
  ],
  [
    'signed links without a key',
    () => withSource({ serve: 'signed' }),
    'configuration',
    'broken',
    /needs a key: set signingSecret/u,
    /Correct this key/u,
  ],
  [
    'a short key',
    () => withSource({ serve: 'signed' }, { signingSecret: 'short' }),
    'configuration',
    'broken',
    /must not be shorter than 32 bytes/u,
    /Correct this key/u,
  ],
];

const machine: readonly Row[] = [
  [
    'a browser that is not there',
    () => {
      vi.stubEnv('STOWAGE_CHROMIUM', '/nowhere/chromium');
      return healthy();
    },
    'browser',
    'broken',
    /\/nowhere\/chromium cannot be run/u,
    /STOWAGE_CHROMIUM/u,
  ],
];

/** A running service. */
const running = async (config: Config = {}): Promise<string> => {
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const app = createApp({ ...healthy(), ...config }, {}, { logger });
  onTestFinished(() => app.close());
  return `http://127.0.0.1:${String((await app.listen(0)).port)}`;
};

const services: readonly Row[] = [
  [
    'nobody at --url',
    () => [healthy(), { url: closed }],
    'service',
    'broken',
    /does not respond: .*ECONNREFUSED/u,
    /Start the service/u,
  ],
  [
    'a proxy before nobody',
    async () => [healthy(), { url: await answerAll(502, '<html>') }],
    'service',
    'broken',
    /a proxy responds with 502/u,
    /--host, --port/u,
  ],
  [
    'a prefix that is not cut',
    async () => [healthy(), { url: `${await proxyTo(await running(), {})}/connector/` }],
    'service',
    'broken',
    /forwards the prefix/u,
    /end proxy_pass with a slash/u,
  ],
  [
    'a page in its place',
    async () => [healthy(), { url: await answerAll(200, '<html>') }],
    'service',
    'broken',
    /something else responds/u,
    /correct --url/u,
  ],
  [
    'an address that redirects',
    async () => [healthy(), { url: await answerAll(301, '', { location: '/' }) }],
    'service',
    'broken',
    /redirects \(301\)/u,
    /after the redirect/u,
  ],
  [
    'a login before it',
    async () => [healthy(), { url: await answerAll(401) }],
    'service',
    'broken',
    /responds with 401/u,
    /Let \/ping pass/u,
  ],
  [
    'a proxy that refuses large forms',
    async () => {
      const target = await running();
      const url = await proxyTo(target, {
        meddle: (incoming, response) => {
          if (Number(incoming.headers['content-length'] ?? 0) < 1024 ** 2) return false;
          incoming.resume();
          response.writeHead(413).end('<html>');
          return true;
        },
      });
      return [healthy(), { url, formSize: '2mb' }];
    },
    'service.form',
    'broken',
    /a form of 3 MB gets 413|a form of 2 MB gets 413/u,
    /client_max_body_size 3m/u,
  ],
  [
    'a proxy that refuses large forms, and lets parts of uploads pass',
    async () => {
      const parts = { stateDirectory: join(here.folder, 'state') };
      const target = await running(parts);
      const url = await proxyTo(target, {
        meddle: (incoming, response) => {
          if (Number(incoming.headers['content-length'] ?? 0) < 1024 ** 2) return false;
          incoming.resume();
          response.writeHead(413).end('<html>');
          return true;
        },
      });
      return [
        { ...healthy(), ...parts },
        { url, formSize: '2mb' },
      ];
    },
    'service.form',
    'risk',
    /413: it goes through in parts/u,
    /client_max_body_size/u,
  ],
  [
    'a proxy that hands on no parts of uploads',
    async () => {
      const parts = { stateDirectory: join(here.folder, 'state') };
      const url = await proxyTo(await running(parts), {
        meddle: ({ url = '' }, response) => {
          if (!url.endsWith('/tus')) return false;
          response.writeHead(404).end('<html>');
          return true;
        },
      });
      return [{ ...healthy(), ...parts }, { url }];
    },
    'service.tus',
    'risk',
    /\/tus gets 404/u,
    /forward all requests/u,
  ],
  [
    'a page that may not use it',
    async () => [healthy(), { url: await running(), pageOrigin: 'http://localhost:3000' }],
    'cors',
    'broken',
    /pages of http:\/\/localhost:3000 may not use/u,
    /"allowedOrigins": \["http:\/\/localhost:3000"\]/u,
  ],
  [
    'a page that may not use it, elsewhere',
    () => [healthy(), { pageOrigin: page }],
    'cors',
    'risk',
    /unless it is on the same host/u,
    /"allowedOrigins"/u,
  ],
  [
    'CORS headers that come twice',
    async () => {
      const target = await running({ allowCrossOrigin: true, allowedOrigins: [page] });
      return [
        healthy(),
        {
          url: await proxyTo(target, { headers: { 'access-control-allow-origin': [page, '*'] } }),
          pageOrigin: page,
        },
      ];
    },
    'cors',
    'broken',
    /come twice/u,
    /Remove add_header/u,
  ],
  [
    'a service that is not https',
    async () => [healthy(), { url: await running(), pageOrigin: page }],
    'service.mixed',
    'broken',
    /it is not https/u,
    /behind the https/u,
  ],
  [
    'another version',
    async () => [
      healthy(),
      { url: await proxyTo(await running(), { headers: { 'x-app-version': '0.0.1' } }) },
    ],
    'service.version',
    'risk',
    /version 0\.0\.1 runs there/u,
    /Restart/u,
  ],
];

describe('the doctor finds', () => {
  it('a pipe for the audit file right, without waiting for its reader', async () => {
    const file = join(here.folder, 'changes');
    execFileSync('mkfifo', [file]);
    expect(await examine({ ...healthy(), audit: { file } })).toContainEqual(
      expect.objectContaining({ check: 'audit', level: 'ok' }),
    );
  });

  it('no fault of a form that takes its time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const url = await proxyTo(await running(), {
      meddle: (incoming) => {
        if (Number(incoming.headers['content-length'] ?? 0) > 1024 ** 2) vi.advanceTimersByTime(12_000);
        return false;
      },
    });
    expect(await examine(healthy(), { url, formSize: '2mb' })).toContainEqual(
      expect.objectContaining({ check: 'service.form', level: 'ok' }),
    );
  });

  it.skipIf(!hasClamd)(`a clamd that takes less than it would get${needsClamd}`, async () => {
    const clamd = await startClamd();
    onTestFinished(() => clamd.stop());
    const inspection = { clamd: clamd.unix, maxBytes: MOST_STREAMED + 1 };
    const make = () => ({ ...healthy(), inspection });
    await expectFinding(['', make, 'inspection', 'risk', /takes no files of/u, /StreamMaxLength/u]);
    expect(
      await examine({ ...healthy(), inspection: { ...inspection, maxBytes: MOST_STREAMED } }),
    ).toContainEqual(expect.objectContaining({ check: 'inspection', level: 'ok' }));
  });

  it.skipIf(redisMissing !== undefined)('a Redis whose user may not write', async () => {
    const redis = await startRedis();
    await redis.client.acl('SETUSER', 'reader', 'on', '>secret', '~*', '+@all', '-set');
    const url = redis.url.replace('//', '//reader:secret@');
    const make = () => ({ ...healthy(), redis: { url } });
    await expectFinding(['', make, 'redis', 'broken', /cannot be used: .*user/iu, /rights of its user/u]);
    expect(await examine({ ...healthy(), redis: { url: redis.url } })).toContainEqual(
      expect.objectContaining({ check: 'redis', level: 'ok' }),
    );
  });

  it.each([...settings, ...machine, ...services])('%s', async (...row) => {
    await expectFinding(row);
  });
});
