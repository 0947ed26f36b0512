import { describe, expect, it } from 'vitest';
import { ask, form, json, post, startEdge, type Answer } from './edge.ts';

const multipart = (fields: readonly (readonly [string, string])[]): RequestInit => {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  return { method: 'POST', body };
};

const parametersOf = ({ data }: Answer): unknown => data['parameters'];

describe('naming an action', () => {
  const bodies: Record<string, (action: string) => RequestInit> = {
    urlencoded: (action) => form(`action=${action}`),
    JSON: (action) => json({ action }),
    multipart: (action) => multipart([['action', action]]),
  };

  it.each(Object.entries(bodies))('prefers path to query to body (%s)', async (_kind, body) => {
    const edge = await startEdge();
    const isOther = async (path: string, init?: RequestInit) =>
      (await ask(edge, path, init)).data['other'] === true;
    expect(await isOther('/other?action=echo', body('missing'))).toBe(true);
    expect(await isOther('/?action=other', body('missing'))).toBe(true);
    expect(await isOther('/', body('other'))).toBe(true);
    expect(await isOther('/other', body('missing'))).toBe(true);
    expect(await isOther('/echo?action=other', body('other'))).toBe(false);
    // An unknown winner is not replaced by a known loser.
    expect(await ask(edge, '/unknown?action=other', body('other'))).toMatchObject({ status: 404 });
    expect(await ask(edge, '/?action=unknown', body('other'))).toMatchObject({ status: 404 });
    // An empty one is none.
    expect(await isOther('/?action=', body('other'))).toBe(true);
  });

  it('refuses an action that is named twice in one place', async () => {
    const edge = await startEdge();
    expect(await ask(edge, '/?action=other&action=echo')).toMatchObject({ status: 400, code: 400 });
    expect(await ask(edge, '/?action[a]=other')).toMatchObject({ status: 400 });
    expect(await ask(edge, '/', form('action=other&action=echo'))).toMatchObject({ status: 400 });
    expect(await ask(edge, '/', json({ action: 7 }))).toMatchObject({ status: 400 });
    // Not looked at where the path has named one.
    expect(await ask(edge, '/other?action=a&action=b')).toMatchObject({ status: 200 });
  });
});

describe('precedence of other parameters', () => {
  it('lets the query win by full name', async () => {
    const edge = await startEdge();
    const url = '/echo?path=query&mods[offset]=1&list[]=a';
    const body = { path: 'body', source: 'body', mods: { offset: '7', limit: '5' }, list: ['x', 'y'] };
    const expected = { path: 'query', source: 'body', mods: { offset: '1', limit: '5' }, list: ['a'] };
    expect(parametersOf(await ask(edge, url, json(body)))).toEqual(expected);
    const text = 'path=body&source=body&mods[offset]=7&mods[limit]=5&list[]=x&list[]=y';
    expect(parametersOf(await ask(edge, url, form(text)))).toEqual(expected);
    const fields = text.split('&').map((pair) => pair.split('=') as [string, string]);
    expect(parametersOf(await ask(edge, url, multipart(fields)))).toEqual(expected);
  });

  it('takes the body where path or source of the query is empty', async () => {
    const edge = await startEdge();
    const answer = await ask(edge, '/echo?path=&source=&name=', form('path=a&source=b&name=c'));
    expect(parametersOf(answer)).toEqual({ path: 'a', source: 'b', name: '' });
    expect(parametersOf(await ask(edge, '/echo?path='))).toEqual({ path: '' });
  });

  it('checks access by the path that the action gets', async () => {
    const edge = await startEdge({ rules: [{ path: '/private', OTHER: false }] });
    expect(await ask(edge, '/other?path=/private', form('path=/public'))).toMatchObject({ status: 403 });
    expect(await ask(edge, '/other?path=/public', form('path=/private'))).toMatchObject({ status: 200 });
    expect(await ask(edge, '/other?path=', form('path=/private'))).toMatchObject({ status: 403 });
  });

  it('refuses a name that is given twice where one text is expected', async () => {
    const edge = await startEdge();
    expect(await ask(edge, '/picky?name=a&size=1')).toMatchObject({ status: 200 });
    expect(await ask(edge, '/picky?name=a&name=b&size=1')).toMatchObject({
      status: 400,
      messages: ['The name must be given only once.'],
    });
    expect(
      await ask(
        edge,
        '/picky?size=1',
        multipart([
          ['name', 'a'],
          ['name', 'b'],
        ]),
      ),
    ).toMatchObject({
      status: 400,
    });
    const both = await ask(edge, '/picky?name=a&name=b&size=x');
    expect(both.messages).toHaveLength(2);
  });
});

describe('bracket syntax', () => {
  const forms: Record<string, (pairs: string) => RequestInit | undefined> = {
    query: () => undefined,
    urlencoded: (pairs) => form(pairs),
    multipart: (pairs) =>
      multipart(pairs.split('&').map((pair) => pair.split('=').map(decodeURIComponent) as [string, string])),
    'flat JSON keys': (pairs) =>
      json(Object.fromEntries(pairs.split('&').map((pair) => pair.split('=').map(decodeURIComponent)))),
  };

  it.each(Object.keys(forms))('reads nested names from %s', async (kind) => {
    const edge = await startEdge();
    const pairs = 'box[w]=10&box%5Bh%5D=20&mods[withFolders]=true&files[0]=a&files[1]=b&name=%D1%84%2B%20x';
    const init = forms[kind]?.(pairs);
    const answer = await ask(edge, init === undefined ? `/echo?${pairs}` : '/echo', init);
    expect(parametersOf(answer)).toEqual({
      box: { w: '10', h: '20' },
      mods: { withFolders: 'true' },
      files: ['a', 'b'],
      name: 'ф+ x',
    });
  });

  it('mixes nested and flat JSON', async () => {
    const edge = await startEdge();
    const answer = await ask(edge, '/echo', json({ mods: { limit: 2 }, 'mods[offset]': 1, box: { w: 1.5 } }));
    expect(parametersOf(answer)).toEqual({ mods: { limit: 2, offset: 1 }, box: { w: 1.5 } });
  });

  it('nests by one level, as deep as the protocol goes, and JSON as JSON does', async () => {
    const edge = await startEdge();
    const deep = (levels: number) => `a${'[x]'.repeat(levels)}`;
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
    const shapes: readonly ((levels: number) => Promise<Answer>)[] = [
      (levels) => ask(edge, `/other?${deep(levels)}=1`),
      (levels) => ask(edge, '/other', form(`${deep(levels)}=1`)),
      (levels) => ask(edge, '/other', json({ [deep(levels)]: 1 })),
      (levels) => ask(edge, '/other', multipart([[deep(levels), '1']])),
    ];
    for (const asked of shapes) {
      expect(await asked(1)).toMatchObject({ status: 200 });
      expect(await asked(2)).toMatchObject({ status: 400, data: { error: 'INVALID_PARAMETERS' } });
      expect(await asked(32)).toMatchObject({ status: 400 });
    }
    expect(await ask(edge, '/other', json(nested(33)))).toMatchObject({ status: 200 });
    expect(await ask(edge, '/other', json(nested(34)))).toMatchObject({ status: 400 });
  });

  it('grows a list by its next index only', async () => {
    const edge = await startEdge();
    expect(parametersOf(await ask(edge, '/echo?l[0]=a&l[1]=b&m[]=c&m[]=d'))).toEqual({
      l: ['a', 'b'],
      m: ['c', 'd'],
    });
    for (const query of ['l[1]=a', 'l[0]=a&l[2]=b', 'l[0]=a&l[0]=b', 'l[999]=a', 'l[4294967294]=a']) {
      expect(await ask(edge, `/echo?${query}`)).toMatchObject({ status: 400 });
      expect(await ask(edge, '/echo', form(query))).toMatchObject({ status: 400 });
    }
  });

  it('takes 1,000 parameters and refuses one more', async () => {
    const edge = await startEdge();
    const pairs = (count: number) =>
      Array.from({ length: count }, (_, index) => `p${String(index)}=1`).join('&');
    expect(await ask(edge, `/other?${pairs(1000)}`)).toMatchObject({ status: 200 });
    expect(await ask(edge, `/other?${pairs(1001)}`)).toMatchObject({ status: 400 });
    expect(await ask(edge, '/other', form(pairs(1000)))).toMatchObject({ status: 200 });
    expect(await ask(edge, '/other', form(pairs(1001)))).toMatchObject({ status: 413, code: 413 });
  });
});

describe('names that contradict one another', () => {
  it.each(['box=1&box[w]=2', 'box[w]=2&box=1', 'box[]=1&box[w]=2', 'box[w]=2&box[]=1', 'box[w]=2&box[0]=1'])(
    'are refused: %s',
    async (pairs) => {
      const edge = await startEdge();
      for (const answer of [await ask(edge, `/echo?${pairs}`), await ask(edge, '/echo', form(pairs))]) {
        expect(answer).toMatchObject({ status: 400, code: 400 });
        expect(answer.messages).toEqual(['The names of the parameters contradict one another.']);
      }
    },
  );
});

describe('values', () => {
  it('stay the texts that queries and forms have', async () => {
    const edge = await startEdge();
    const query = 'dots=false&size=5&mods[withFolders]=true&mods[limit]=&mods[filterWord]=null';
    const mods = { withFolders: 'true', limit: '', filterWord: 'null' };
    for (const answer of [await ask(edge, `/echo?${query}`), await ask(edge, '/echo', form(query))])
      expect(parametersOf(answer)).toEqual({ dots: 'false', size: '5', mods });
  });

  it('are what JSON says, without nulls', async () => {
    const edge = await startEdge();
    const body = { dots: false, mods: { offset: 3, filterWord: null, withFolders: 'true' }, path: null };
    expect(parametersOf(await ask(edge, '/echo', json(body)))).toEqual({
      dots: false,
      mods: { offset: 3, withFolders: 'true' },
    });
  });
});

/** @see CVE-2018-3721, CVE-2022-24999: prototype pollution by parameter names */
describe('names that reach prototypes', () => {
  const names = [
    '__proto__[polluted]',
    'constructor[prototype][polluted]',
    'mods[__proto__][polluted]',
    'mods[constructor][prototype][polluted]',
    'prototype[polluted]',
    'a[0][__proto__][polluted]',
    'toString',
    'mods[hasOwnProperty]',
  ];
  const rawJson = [
    '{"__proto__":{"polluted":1}}',
    '{"mods":{"__proto__":{"polluted":1}}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"mods":{"constructor":{"prototype":{"polluted":1}}},"a":[{"__proto__":{"polluted":1}}]}',
  ];

  const expectClean = (answer: Answer, status = 200) => {
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.data)).not.toMatch(/proto|polluted|constructor|toString|hasOwn/u);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(([] as unknown as Record<string, unknown>)['polluted']).toBeUndefined();
    expect((() => 1) as unknown as Record<string, unknown>).not.toHaveProperty('polluted');
  };

  it.each(names)('ignores %s, or refuses it where it is deeper than the protocol goes', async (name) => {
    const edge = await startEdge();
    const pair = `${encodeURIComponent(name)}=1`;
    const isDeep = name.split('[').length > 2;
    for (const answer of [
      await ask(edge, `/echo?${pair}`),
      await ask(edge, '/echo', form(pair)),
      await ask(edge, '/echo', json({ [name]: 1 })),
      await ask(edge, '/echo', multipart([[name, '1']])),
    ]) {
      expectClean(answer, isDeep ? 400 : 200);
    }
  });

  it.each(rawJson)('ignores %s', async (text) => {
    const edge = await startEdge();
    expectClean(await ask(edge, '/echo', post('application/json', text)));
  });
});
