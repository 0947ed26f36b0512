import { describe, expect, it } from 'vitest';
import { NotFoundError } from 'stowage/storage';
import { HttpError } from 'stowage';
import { ask, createEdge, form, startEdge } from './edge.ts';

const url = (path: string) => path;

describe('the order of the steps', () => {
  it('refuses GET under onlyPOST before everything else, the health check too', async () => {
    const calls: string[] = [];
    const edge = await startEdge({
      settings: { onlyPOST: true },
      authenticate: () => {
        calls.push('authenticate');
        return 'guest';
      },
    });
    for (const path of ['/ping', '/echo', '/?action=echo', '/nonsense', '/']) {
      const answer = await ask(edge, url(path));
      expect(answer).toMatchObject({ status: 405, success: false, code: 405 });
      expect(answer.headers.get('allow')).toBe('POST, OPTIONS');
    }
    const head = await fetch(`${edge.url}/ping`, { method: 'HEAD' });
    expect(head.status).toBe(405);
    expect(calls).toEqual([]);
    expect(await ask(edge, '/echo', { method: 'POST' })).toMatchObject({ status: 200, code: 220 });
  });

  it('answers the health check without sources or authentication', async () => {
    const refuse = () => {
      throw new Error('must not be called');
    };
    const edge = await startEdge({ authenticate: refuse, resolveSources: refuse });
    const response = await fetch(`${edge.url}/ping`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.text()).toBe('{"success":true}');
    expect((await fetch(`${edge.url}/ping/`)).status).toBe(200);
    const head = await fetch(`${edge.url}/ping`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('asks for sources, then for the role, then reads the body, then checks access', async () => {
    const steps: string[] = [];
    const edge = await startEdge({
      resolveSources: async () => {
        steps.push('sources');
        throw new HttpError(418, 'No such tenant.');
      },
      authenticate: () => {
        steps.push('role');
        return 'guest';
      },
    });
    expect(await ask(edge, '/echo', form('broken[a'.repeat(2)))).toMatchObject({
      status: 418,
      messages: ['No such tenant.'],
    });
    expect(steps).toEqual(['sources']);
  });

  it('gives a bad role before a bad body, and a denied action before its bad parameters', async () => {
    const unauthorised = await startEdge({
      authenticate: () => {
        throw new HttpError(401, 'Log in first.');
      },
    });
    const broken = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' };
    expect(await ask(unauthorised, '/echo', broken)).toMatchObject({ status: 401, code: 401 });
    const denied = await startEdge({ rules: [{ PICKY: false }] });
    expect(await ask(denied, '/picky')).toMatchObject({ status: 403, code: 403 });
    expect(await ask(denied, '/picky', broken)).toMatchObject({ status: 403, code: 403 });
    expect(await ask(await startEdge(), '/picky')).toMatchObject({ status: 400, code: 400 });
  });

  it('checks access before it says that an action does not exist', async () => {
    const edge = await startEdge({ rules: [{ NO_SUCH_THING: false }] });
    expect(await ask(edge, '/noSuchThing')).toMatchObject({ status: 403, code: 403 });
    expect(await ask(edge, '/noOtherThing')).toMatchObject({ status: 404, code: 404 });
    expect(await ask(edge, '/?action=noSuchThing')).toMatchObject({ status: 403 });
    expect(await ask(edge, '/', form('action=noSuchThing'))).toMatchObject({ status: 403 });
  });

  it('lets rules about folders and types decide where they can', async () => {
    const edge = await startEdge({
      rules: [
        { CHANGE: false },
        { path: '/open', CHANGE: true },
        { ECHO: false },
        { extensions: 'jpg', ECHO: true },
        { path: '/private', OTHER: false },
      ],
    });
    expect(await ask(edge, '/change?path=/closed')).toMatchObject({ status: 403 });
    expect(await ask(edge, '/change?path=open/deeper/')).toMatchObject({ status: 200 });
    // Whether it is a jpg, only the action knows.
    expect(await ask(edge, '/echo')).toMatchObject({ status: 200 });
    expect(await ask(edge, '/other?path=/private/x')).toMatchObject({ status: 403 });
    expect(await ask(edge, '/other', form('path=public/../private'))).toMatchObject({ status: 403 });
    expect(await ask(edge, '/other?path=/private-2')).toMatchObject({ status: 200 });
  });
});

describe('roles', () => {
  it('takes a role from a synchronous and an asynchronous hook', async () => {
    const sync = await startEdge({ authenticate: ({ headers }) => headers['x-role'] });
    const init = { headers: { 'x-role': 'editor' } };
    expect((await ask(sync, '/echo', init)).data['role']).toBe('editor');
    const later = await startEdge({ authenticate: async ({ headers }) => headers['x-role'] });
    expect((await ask(later, '/echo', init)).data['role']).toBe('editor');
  });

  it.each([
    ['a number', () => 7],
    ['nothing', () => undefined],
    ['a promise of nothing', async () => null],
    [
      'an error',
      () => {
        throw new Error('database at 10.0.0.7 is down');
      },
    ],
    // An error about something else than this request, though of a class that means 404 elsewhere.
    ['an error of a store', async () => Promise.reject(new NotFoundError('user 17'))],
    ['an HttpError with the status 302', () => Promise.reject(new HttpError(302, '/login'))],
  ])('answers 500 without a word about the cause when the hook gives %s', async (what, authenticate) => {
    const edge = await startEdge({ authenticate });
    const answer = await ask(edge, '/echo');
    expect(answer).toMatchObject({ status: 500, code: 500, messages: ['Internal error.'] });
    const cause = what.includes('HttpError') ? 'from 400 to 599: 302' : 'checkAuthentication';
    const detail: unknown = expect.stringContaining(cause);
    expect(edge.log.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { detail } }]);
  });
});

describe('actions and methods', () => {
  it('names the methods of an action in a 405', async () => {
    const edge = await startEdge();
    const get = await ask(edge, '/postOnly');
    expect(get).toMatchObject({ status: 405, code: 405 });
    expect(get.headers.get('allow')).toBe('POST, OPTIONS');
    expect(await ask(edge, '/postOnly', { method: 'POST' })).toMatchObject({ status: 200 });
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await ask(edge, '/echo', { method });
      expect(answer).toMatchObject({ status: 405 });
      expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
    }
    expect((await ask(edge, '/change', { method: 'PUT' })).headers.get('allow')).toBe('GET, POST, OPTIONS');
  });

  it('serves HEAD for actions that change nothing, as GET without body', async () => {
    const edge = await startEdge();
    const get = await fetch(`${edge.url}/other`);
    const head = await fetch(`${edge.url}/other`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(await head.text()).toBe('');
    for (const path of ['/change', '/postOnly']) {
      const refused = await fetch(edge.url + path, { method: 'HEAD' });
      expect([refused.status, await refused.text()]).toEqual([405, '']);
    }
    expect((await fetch(`${edge.url}/missing`, { method: 'HEAD' })).status).toBe(404);
    const many = await fetch(`${edge.url}/many`, { method: 'HEAD' });
    expect([many.status, await many.text()]).toEqual([200, '']);
  });

  it('answers OPTIONS without cross-origin rules with Allow', async () => {
    const edge = await startEdge();
    const response = await fetch(`${edge.url}/echo`, {
      method: 'OPTIONS',
      headers: { origin: 'http://a.test' },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    const allowedAt = async (path: string): Promise<string | null> =>
      (await fetch(edge.url + path, { method: 'OPTIONS' })).headers.get('allow');
    expect(await allowedAt('/change')).toBe('GET, POST, OPTIONS');
    expect(await allowedAt('/postOnly')).toBe('POST, OPTIONS');
    for (const path of ['/', '/ping', '/nonsense'])
      expect(await allowedAt(path)).toBe('GET, HEAD, POST, OPTIONS');
  });

  it.each(['/', '', '/?', '/?path=a', '/?action='])(
    'answers 404 where no action is given: %j',
    async (path) => {
      expect(await ask(await startEdge(), path)).toMatchObject({ status: 404, code: 404, success: false });
    },
  );

  it('reads action names with a slash at the end and percent escapes, once', async () => {
    const edge = await startEdge();
    for (const path of ['/other/', '/%6fther', '/oth%65r/?path=x']) {
      expect(await ask(edge, path)).toMatchObject({ status: 200 });
    }
    for (const path of [
      '/%256fther',
      '/other%2F..',
      '/a/other',
      '/other/x',
      '/%zz',
      '/OTHER',
      '/constructor',
    ]) {
      expect(await ask(edge, path)).toMatchObject({ status: 404 });
    }
  });
});

describe('errors', () => {
  it('puts the first message into the reason phrase, as printable ASCII of at most 120 characters', async () => {
    const messages = ['Bad tökén\r\nSet-Cookie: x=1', 'x'.repeat(500), 'пароль'];
    for (const message of messages) {
      const edge = await startEdge({
        authenticate: () => {
          throw new HttpError(401, message);
        },
      });
      const { status, statusText, messages: said, headers } = await ask(edge, '/echo');
      expect(status).toBe(401);
      expect(said).toEqual([message]);
      expect(statusText).toMatch(/^[\x20-\x7e]{1,120}$/u);
      expect(headers.get('set-cookie')).toBeNull();
    }
  });

  it('gives an HttpError without a message the words of its status', async () => {
    for (const [status, words] of [
      [401, 'Unauthorized'],
      [499, 'Internal error.'],
    ] as const) {
      const edge = await startEdge({
        authenticate: () => {
          throw new HttpError(status, ' ');
        },
      });
      expect(await ask(edge, '/echo')).toMatchObject({ status, messages: [words] });
    }
  });

  it('never tells what went wrong inside', async () => {
    const edge = await startEdge();
    const response = await fetch(`${edge.url}/crash`);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).toBe(
      '{"success":false,"data":{"code":500,"error":"INTERNAL","messages":["Internal error."]}}',
    );
    expect(response.statusText).toBe('Internal error.');
    const [line] = edge.log;
    expect(line).toMatchObject({ level: 'error', fields: { path: '/crash', status: 500 } });
    expect(line?.fields['requestId']).toBe(response.headers.get('x-request-id'));
  });

  it('logs stacks only with debug', async () => {
    const loud = await startEdge({ settings: { debug: true } });
    await ask(loud, '/crash');
    await ask(loud, '/missing?token=secret');
    expect(loud.log.map(({ level }) => level)).toEqual(['error', 'info']);
    expect(loud.log[0]?.fields['error']).toBeInstanceOf(Error);
    expect(JSON.stringify(loud.log)).not.toContain('secret"');
    const quiet = await startEdge({ settings: { debug: false } });
    await ask(quiet, '/crash');
    await ask(quiet, '/missing');
    expect(quiet.log).toHaveLength(1);
    expect(JSON.stringify(quiet.log)).toContain('cannot open');
    expect(JSON.stringify(quiet.log)).not.toContain('edge.ts');
  });

  it('sends errors of actions with status line 200 when errorHttpStatus is off', async () => {
    const edge = await startEdge({
      settings: { errorHttpStatus: false, allowCrossOrigin: true, allowedOrigins: [] },
      rules: [{ CHANGE: false }],
    });
    expect(await ask(edge, '/missing')).toMatchObject({
      status: 200,
      success: false,
      code: 404,
      statusText: 'OK',
    });
    expect(await ask(edge, '/change')).toMatchObject({ status: 200, success: false, code: 403 });
    expect(await ask(edge, '/postOnly')).toMatchObject({ status: 200, code: 405 });
    const preflight = { method: 'OPTIONS', headers: { origin: 'http://a.test' } };
    expect(await ask(edge, '/missing', preflight)).toMatchObject({ status: 403, code: 403 });
    expect(await ask(edge, '/echo', { method: 'PUT' })).toMatchObject({ status: 405, code: 405 });
  });

  it('sends the version with every answer of a standalone instance, and only there', async () => {
    const edge = await startEdge({ version: '1.2.3' });
    for (const path of ['/ping', '/other', '/missing', '/nonsense', '/crash']) {
      expect((await fetch(edge.url + path)).headers.get('x-app-version')).toBe('1.2.3');
    }
    expect((await fetch(edge.url, { method: 'OPTIONS' })).headers.get('x-app-version')).toBe('1.2.3');
    expect((await fetch(`${(await startEdge()).url}/ping`)).headers.get('x-app-version')).toBeNull();
  });
});

describe('what a request holds', () => {
  it('gives its sources back after success, failure, and after a streamed body', async () => {
    const edge = await startEdge();
    await ask(edge, '/other');
    await ask(edge, '/missing');
    await ask(edge, '/crash');
    await (await fetch(`${edge.url}/download`)).arrayBuffer();
    await (await fetch(`${edge.url}/many`)).arrayBuffer();
    await (await fetch(`${edge.url}/many`, { method: 'HEAD' })).arrayBuffer();
    const { handle, leases } = createEdge();
    const { body } = await handle({
      method: 'GET',
      url: '/download',
      headers: {},
      native: undefined,
      signal: new AbortController().signal,
      body: undefined,
    });
    expect(leases()).toBe(1);
    (body as { destroy(): void }).destroy();
    await expect.poll(leases).toBe(0);
    await expect.poll(edge.leases).toBe(0);
  });
});
