import { createHmac } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { createRouter, type ConfigInput, type HookRequest, type Router } from 'stowage';
import { StorageUnavailableError } from 'stowage/storage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { MemoryAdapter } from '#internals';
import { quiet } from '../http/hosts.ts';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';

const SECRET = 'a secret of the tests, of more than 32 bytes';
const YEAR = 365 * 24 * 60 * 60;

const picture = (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();

const presets = {
  card: { width: 320, fit: 'inside' },
  large: { width: 1600, fit: 'inside' },
  square: { width: 100, height: 100, fit: 'cover' },
};

/** A connector with one source per mode, and `folder` as the root of all but the last, `elsewhere`. */
const start = async (
  more: object = {},
  settings: object = {},
): Promise<{ readonly router: Router; readonly root: string }> => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-texts-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'sub'));
  await writeFile(join(root, 'cat.png'), await picture(640, 480));
  await writeFile(join(root, 'sub', 'a b & c.png'), await picture(30, 20));
  const source = (serve: string): object => ({ title: serve, root, serve, imagePresets: presets, ...more });
  const config = {
    signingSecret: SECRET,
    ...settings,
    sources: {
      open: source('public'),
      members: source('protected'),
      signed: source('signed'),
      cdn: {
        ...source('off'),
        baseurl: 'https://cdn.example/media/',
        baseurlAliases: ['https://old.example/pictures/'],
      },
    },
  } as unknown as ConfigInput;
  const router = createRouter(config, {}, quiet);
  onTestFinished(() => router.close());
  return { router, root };
};

/** A link whose time has been over for long, with the signature that it had. */
const expiredLink = (router: Router, path: string, source = 'signed'): string => {
  const expires = Math.floor(Date.now() / 1000) - YEAR;
  const signed = createHmac('sha256', SECRET).update(JSON.stringify(['', source, path, expires]));
  const [address = ''] = router.urlFor(source, path).split('?');
  return `${address}?expires=${String(expires)}&signature=${signed.digest('base64url')}`;
};

const inHtml = (url: string): string => url.replaceAll('&', '&amp;');
const statusOf = async (router: Router, url: string): Promise<number> =>
  (await router.fetch(new Request(new URL(url, 'http://host')))).status;
const urlIn = (html: string, attribute = 'src'): string =>
  (new RegExp(`${attribute}="([^"]*)"`, 'u').exec(html)?.[1] ?? '').replaceAll('&amp;', '&');

describe('renewLinks', () => {
  it('gives links whose signature was valid once a new one, and changes no other byte', async () => {
    const { router } = await start();
    const old = expiredLink(router, 'cat.png');
    expect(await statusOf(router, old)).toBe(403);
    const text = (url: string): string =>
      `<!doctype html>\r\n<P Class=x>é\u{1f600} &copy; <IMG  alt='1 > 0' SRC="${url}" ><a href='https://other.example/?a=1&b=2'>x</a><br/>`;
    const renewed = await router.renewLinks(text(inHtml(old)));
    const url = /SRC="([^"]*)"/u.exec(renewed)?.[1] ?? '';
    expect(renewed).toBe(text(url));
    expect(await statusOf(router, url.replaceAll('&amp;', '&'))).toBe(200);
    const soon = await router.renewLinks(`<img src="${old}">`, { lifetime: 100 });
    const seconds = Number(/expires=(\d+)/u.exec(soon)?.[1]) - Date.now() / 1000;
    expect(seconds > 90 && seconds <= 100).toBe(true);
  });

  it('gives the writer of a link no access', async () => {
    const { router } = await start();
    const old = expiredLink(router, 'cat.png');
    for (const url of [
      router.urlFor('signed', 'cat.png').replace(/\?.*/u, ''),
      old.replace('cat.png', 'sub/a%20b%20%26%20c.png'),
      old.replace(/signature=./u, 'signature='),
      old.replace(/expires=\d/u, 'expires=9'),
      old.replace('/signed/', '/members/'),
    ]) {
      const text = `<img src="${inHtml(url)}"><img src='${url}'>`;
      expect(await router.renewLinks(text)).toBe(text);
      if (url.includes('/signed/'))
        expect(await router.renewLinks(text, { sizes: true, srcset: ['card'] })).toBe(text);
    }
  });

  it('leaves what only looks like a link', async () => {
    const { router } = await start();
    const img = `<img src="${inHtml(expiredLink(router, 'cat.png'))}">`;
    for (const text of [
      `<!-- ${img} -->`,
      `<script>x = '${img}'</script>`,
      `<style>/* ${img} */</style>`,
      `<textarea>${img}</textarea>`,
      `<title>${img}</title>`,
      `<xmp>${img}</xmp><noembed>${img}</noembed><noframes>${img}</noframes>`,
      `<iframe>${img}</iframe>`,
      `<svg><![CDATA[${img}]]></svg>`,
      `<plaintext>${img}`,
      `<p title="${img.replaceAll('"', "'")}">`,
      img.replace('<', '&lt;'),
      img.slice(0, -1),
      img.replace('src', 'title'),
    ])
      expect(await router.renewLinks(text, { sizes: true })).toBe(text);
    const after = await router.renewLinks(`<svg><title/><style/></svg><noscript>${img}</noscript>`);
    expect(await statusOf(router, urlIn(after))).toBe(200);
  });

  it('renews every attribute that shows or opens a file', async () => {
    const { router } = await start();
    const cat = inHtml(expiredLink(router, 'cat.png'));
    const other = 'https://other.example/x.png?a=1&b=2,3';
    const texts = [
      [`<a href="`, `">`],
      [`<img srcset="${other} 1x, `, ` 2x">`],
      [`<img srcset=" `, `, ${other} 2x">`],
      [`<picture><source srcset="`, `"></picture>`],
      [`<video poster="`, `"></video>`],
      [`<audio src="`, `"></audio>`],
      [`<svg><image xlink:href="`, `"/></svg>`],
      [`<svg><use href="`, `#icon"/></svg>`],
      [`<svg><a xlink:href="`, `"/></svg>`],
      [`<svg><filter><feImage href="`, `"/></filter></svg>`],
      [`<td background="`, `">`],
      [`<tr background="`, `">`],
      [`<object data="`, `">`],
      [`<link rel=preload as=image imagesrcset="${other} 1x, `, ` 2x">`],
      [`<img src="x.gif" data-src="`, `">`],
      [`<img data-srcset="${other} 1x, `, ` 2x">`],
      [`<meta http-equiv="refresh" content="5; url='`, `'">`],
      [`<meta http-equiv="refresh" content="0;URL=`, `">`],
      [`<meta property="og:image" content="`, `">`],
      [`<p style="color: red; background: url('`, `')">`],
      [`<p style="background: url(`, `), url(${other})">`],
      [`<p style='background: url( "`, `" )'>`],
      // As browsers write quotes, and other references.
      [`<p style="font: &quot;A &amp; B&eacute;&quot;; background: url(&quot;`, `&quot;), url('${other}')">`],
      [`<img srcset='&#x20;${other}&#38;c="d" 1x,\r\n`, ` 2x&nbsp;'>`],
    ] as const;
    for (const [before, after] of texts) {
      const renewed = await router.renewLinks(before + cat + after);
      expect(renewed.startsWith(before)).toBe(true);
      expect(renewed.endsWith(after)).toBe(true);
      const url = renewed.slice(before.length, renewed.length - after.length).replaceAll('&amp;', '&');
      expect([before, await statusOf(router, url)]).toEqual([before, 200]);
    }
    // Without quotes, and with other references.
    for (const text of [
      `<img src=${expiredLink(router, 'cat.png')}>`,
      `<img src=${cat} alt=x>`,
      `<img src="${cat.replaceAll('&amp;', '&#38;').replaceAll('/', '&sol;')}">`,
      `<p style="background: url(&quot;${cat}&quot;)">`,
    ]) {
      const [link] = await router.linksIn(await router.renewLinks(text));
      expect(link).toEqual({ source: 'signed', path: 'cat.png', kind: 'file', signed: true });
    }
  });

  it('keeps the host, the other parameters and the fragment of a link', async () => {
    const { router } = await start({}, { publicUrl: 'https://www.example.com/fb/' });
    const old = expiredLink(router, 'cat.png');
    expect(old.startsWith('https://www.example.com/fb/file/signed/cat.png?')).toBe(true);
    for (const written of [
      old.replace('?', '?v=1&') + '&_tmst=7#top',
      old.replace('https:', ''),
      old.replace('https://www.example.com', ''),
    ]) {
      const renewed = urlIn(await router.renewLinks(`<img src="${inHtml(written)}">`));
      const without = (url: string): string => url.replace(/expires=\d+&signature=[\w-]{43}/u, '');
      expect(without(renewed)).toBe(without(written));
      expect(renewed).not.toBe(written);
    }
  });

  it('gives pictures their size, lazy loading and a srcset where they lack them', async () => {
    const { router } = await start();
    const options = { sizes: true, srcset: ['card', 'large', 'square'] };
    const base = '/file/open/';
    const srcset = `${base}_thumbs/card/cat.png 320w, ${base}cat.png 640w`;
    expect(await router.renewLinks(`<img src="${base}cat.png" alt="">`, options)).toBe(
      `<img src="${base}cat.png" width="640" height="480" loading="lazy" srcset="${srcset}" ` +
        `sizes="(max-width: 640px) 100vw, 640px" alt="">`,
    );
    const added = async (attributes: string): Promise<string> =>
      (await router.renewLinks(`<img src='${base}cat.png'${attributes}>`, { sizes: true })).replace(
        attributes,
        '',
      );
    expect(await added(' width="320"')).toBe(`<img src='${base}cat.png' height='240' loading='lazy'>`);
    expect(await added(' height=240 loading=eager')).toBe(`<img src='${base}cat.png' width='320'>`);
    for (const full of [' width=1 height=1', ' width="50%"', ' style="max-height: 1em; width: 5em"'])
      expect(await added(full)).toBe(`<img src='${base}cat.png' loading='lazy'>`);
    expect(await router.renewLinks(`<img src=${base}_thumbs/card/cat.png>`, options)).toBe(
      `<img src=${base}_thumbs/card/cat.png width=320 height=240 loading=lazy>`,
    );
    expect(await router.renewLinks(`<img height=240 src=${base}cat.png>`, options)).toContain(
      'sizes=(max-width:&#32;320px)&#32;100vw,&#32;320px',
    );
    // Where nothing lies there is nothing to say.
    const missing = `<img src="${base}missing.png">`;
    expect(await router.renewLinks(missing, options)).toBe(missing);
  });

  it.each(['open', 'signed', 'cdn'])('gives a srcset whose links work: %s', async (name) => {
    const { router } = await start();
    const url =
      name === 'cdn'
        ? 'https://old.example/pictures/cat.png'
        : name === 'signed'
          ? expiredLink(router, 'cat.png')
          : `/file/${name}/cat.png`;
    const renewed = await router.renewLinks(`<img src="${inHtml(url)}">`, { srcset: ['card'], sizes: true });
    expect(renewed).toContain('width="640" height="480"');
    const urls = urlIn(renewed, 'srcset').split(', ');
    expect(urls.map((one) => one.replace(/^\S+ /u, ''))).toEqual(['320w', '640w']);
    for (const link of urls.map((one) => one.replace(/ .*/u, ''))) {
      if (name === 'cdn') expect(link.startsWith('https://old.example/pictures/')).toBe(true);
      else expect(await statusOf(router, link)).toBe(200);
    }
    // Once more: all that there is is renewed, nothing is added.
    const again = await router.renewLinks(renewed, { srcset: ['card'], sizes: true });
    expect(again.replaceAll(/\d{10,}|signature=[\w-]+/gu, '')).toBe(
      renewed.replaceAll(/\d{10,}|signature=[\w-]+/gu, ''),
    );
  });

  it('does without a srcset where the store fails that has the variants, and renews the rest', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'cat.png', await picture(640, 480));
    const fail = () => Promise.reject(new StorageUnavailableError());
    const store = replacing(inner, { statMany: fail });
    const cdn = {
      title: 'cdn',
      baseurl: 'https://cdn.example/',
      storageAdapter: 'failing',
      imagePresets: presets,
    };
    const config = { sources: { cdn } } as unknown as ConfigInput;
    const storageAdapters = { failing: { create: () => store } };
    const router = createRouter(config, {}, { ...quiet, storageAdapters });
    onTestFinished(() => router.close());
    const text = '<img src="https://cdn.example/cat.png">';
    expect(await router.renewLinks(text, { sizes: true, srcset: ['card'] })).toBe(
      text.replace('>', ' width="640" height="480" loading="lazy">'),
    );
  });

  it('looks files up by another signal in each call: one that outlives them would keep something of each', async () => {
    const signals = new Set<AbortSignal>();
    const inner = new MemoryAdapter();
    const store = replacing(inner, {
      stat: (path, options) => {
        if (options?.signal !== undefined) signals.add(options.signal);
        return inner.stat(path, options);
      },
    });
    const cdn = {
      title: 'cdn',
      baseurl: 'https://cdn.example/',
      storageAdapter: 'watched',
      redirectMoved: {},
    };
    const storageAdapters = { watched: { create: () => store } };
    const router = createRouter({ sources: { cdn } }, {}, { ...quiet, storageAdapters });
    onTestFinished(() => router.close());
    const text = '<img src="https://cdn.example/cat.png">';
    await router.renewLinks(text, { sizes: true });
    const ofFirst = [...signals];
    expect(ofFirst).not.toEqual([]);
    signals.clear();
    await router.renewLinks(text, { sizes: true });
    expect(signals.size).toBeGreaterThan(0);
    for (const signal of ofFirst) expect(signals.has(signal)).toBe(false);
  });

  it('reveals nothing about pictures with restricted access, whatever the text is', async () => {
    const { router } = await start();
    const options = { sizes: true, srcset: ['card'] };
    const [unsigned = ''] = router.urlFor('signed', 'cat.png').split('?');
    for (const url of ['/file/members/cat.png', '/file/members/_thumbs/card/cat.png', unsigned]) {
      const text = `<img src="${url}">`;
      expect(await router.renewLinks(text, options)).toBe(text);
    }
  });

  it("renews and lists links of a tenant's sources for a request that has this tenant", async () => {
    const { root } = await start();
    const hooks = {
      resolveSources: ({ headers }: HookRequest) => {
        const { 'x-tenant': id } = headers;
        const photos = { title: 'Photos', root, serve: 'signed' };
        return id === undefined ? null : { id, sources: { photos } };
      },
    };
    const router = createRouter({ signingSecret: SECRET, sources: {} }, hooks as never, quiet);
    onTestFinished(() => router.close());
    const headersOf = (id: string): Record<string, string> => ({ 'x-tenant': id });
    const listing = await router.fetch(new Request('http://host/files', { headers: headersOf('one') }));
    const { data } = (await listing.json()) as {
      data: { sources: { baseurl: string; files: { file: string }[] }[] };
    };
    const url = data.sources[0]?.files[0]?.file ?? '';
    const text = `<img src="${inHtml(url)}">`;
    const optionsOf = (id: string): object => ({ request: { headers: headersOf(id) }, lifetime: YEAR });
    const renewed = urlIn(await router.renewLinks(text, optionsOf('one')));
    expect(Number(new URL(renewed, 'http://host').searchParams.get('expires'))).toBeGreaterThan(
      Date.now() / 1000 + YEAR / 2,
    );
    const answer = await router.fetch(
      new Request(new URL(renewed, 'http://host'), { headers: headersOf('one') }),
    );
    expect(answer.status).toBe(200);
    expect(await router.linksIn(text, optionsOf('one'))).toMatchObject([{ source: 'photos', signed: true }]);
    // To another tenant it is a link without a genuine signature, and without one a link of others.
    expect(await router.renewLinks(text, optionsOf('two'))).toBe(text);
    expect(await router.renewLinks(text)).toBe(text);
  });

  it('stays inside a value, whatever a browser takes it for', async () => {
    const { router, root } = await start();
    await rename(join(root, 'cat.png'), join(root, `it's "q" <b>.png`));
    const name = encodeURIComponent(`it's "q" <b>.png`);
    const inner = `<img src=/file/open/${name.replaceAll("'", '%27')}>`;
    const renewed = await router.renewLinks(inner, { sizes: true, srcset: ['card'] });
    expect(renewed).toContain('srcset=');
    expect(renewed.slice(1, -1)).not.toMatch(/[<>"']/u);
    const [, ...more] = await router.linksIn(renewed);
    expect(more).toEqual([
      { source: 'open', path: `it's "q" <b>.png`, kind: 'variant', preset: 'card' },
      { source: 'open', path: `it's "q" <b>.png`, kind: 'file' },
    ]);
  });

  it('leads to where a file has moved', async () => {
    const { router } = await start({ redirectMoved: {} });
    const old = expiredLink(router, 'cat.png');
    const thumb = expiredLink(router, '_thumbs/card/cat.png');
    const body = new URLSearchParams({ source: 'signed', path: '', name: 'cat.png', newname: 'dog.png' });
    await router.fetch(new Request('http://host/fileRename', { method: 'POST', body }));
    for (const url of [old, thumb]) {
      const renewed = urlIn(await router.renewLinks(`<img src="${inHtml(url)}">`));
      expect(renewed.replace(/\?.*/u, '')).toBe(url.replace(/\?.*/u, '').replace('cat', 'dog'));
      expect(await statusOf(router, renewed)).toBe(200);
    }
    expect(await router.linksIn(`<img src="${inHtml(old)}">`)).toEqual([
      { source: 'signed', path: 'dog.png', kind: 'file', signed: true, expired: true, moved: true },
    ]);
  });

  it.each([
    ['no', 'url(', ')'],
    ['single', "url('", "')"],
    ['double', 'url(&quot;', '&quot;)'],
  ])('escapes the new name of a moved file inside a style with %s quotes', async (_, before, after) => {
    const { router } = await start({ redirectMoved: {} });
    const newname = "it's (2), a dog.png";
    const body = new URLSearchParams({ source: 'open', path: '', name: 'cat.png', newname });
    await router.fetch(new Request('http://host/fileRename', { method: 'POST', body }));
    const [head, tail] = [`<p style="background: ${before}`, `${after}; color: red">`];
    const renewed = await router.renewLinks(`${head}/file/open/cat.png${tail}`);
    const url = renewed.slice(head.length, -tail.length);
    expect(renewed).toBe(head + url + tail);
    expect(url).toBe('/file/open/it%27s%20%282%29,%20a%20dog.png');
    expect(await statusOf(router, url)).toBe(200);
  });

  it('names what is wrong with its options', async () => {
    const { router } = await start();
    for (const [options, message] of [
      [{ lifetime: 0 }, 'lifetime'],
      [{ lifetime: 1e15 }, 'lifetime'],
      [{ srcset: ['crad'] }, 'crad'],
      [{ srcset: 'card' }, 'srcset'],
      [{ sizes: 'true' }, 'sizes'],
    ] as const)
      await expect(router.renewLinks('', options as object)).rejects.toThrow(message);
    await expect(router.renewLinks(undefined as unknown as string)).rejects.toThrow('html');
  });

  it.runIf(runsEverything)('does 10 MB in pieces, or says that it is too much', async () => {
    const { router } = await start();
    await expect(router.renewLinks(' '.repeat(17 * 1024 * 1024))).rejects.toThrow('html: must have at most');
    const many = (count: number): string =>
      Array.from({ length: count }, (_, index) => `<img src=/file/open/${String(index)}.png>`).join('');
    await expect(router.renewLinks(many(20_001))).rejects.toThrow('20000 links');
    const old = inHtml(expiredLink(router, 'cat.png'));
    const part = `<p>${'word '.repeat(30)}<img src="https://other.example/1.png?a=1&b"><img src="${old}"></p>\n`;
    const text = part.repeat(Math.ceil((10 * 1024 * 1024) / part.length));
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    const renewed = await router.renewLinks(text);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(5);
    expect(renewed.split(old)).toHaveLength(1);
    expect(renewed).toHaveLength(text.length);
  });

  it.each([
    ['a value', (size: number) => `<img src="data:${'x'.repeat(size)}`],
    ['a comment', (size: number) => `<!--${'-'.repeat(size)}`],
    ['tags', (size: number) => '<a'.repeat(size / 2)],
    ['attributes', (size: number) => `<img ${'a=1 '.repeat(size / 4)}`],
    ['elements', (size: number) => '<svg><p>'.repeat(size / 8)],
    ['references', (size: number) => '&amp'.repeat(size / 4)],
    ['candidates', (size: number) => `<img srcset="${'((,'.repeat(size / 3)}">`.repeat(2)],
    ['blanks', (size: number) => `<p style="${'url( '.repeat(size / 5)}">`],
  ])('ends for long runs of the same: %s', async (_name, make) => {
    const { router } = await start();
    const text = make(1024 * 1024);
    expect((await router.renewLinks(text, { sizes: true })) === text).toBe(true);
  });
});

describe('linksIn', () => {
  it('says what each own link is, in the order of the text', async () => {
    const { router } = await start();
    const signed = router.urlFor('signed', 'cat.png');
    const text = `<a href="/file/open/sub/a%20b%20%26%20c.png"><img src="/file/open/_thumbs/cat.png"></a>
      <img src="${inHtml(signed)}" srcset="${inHtml(expiredLink(router, '_thumbs/card/cat.png'))} 320w, https://x.example/ 640w">
      <img src="/file/signed/cat.png"><img src="https://cdn.example/media/missing.png">
      <img src="//old.example/pictures/cat.png"><img src="https://old.example/other/cat.png"><img src="cat.png">
      <a href="mailto:a@example.com">x</a><a href="/file/nowhere/cat.png">x</a><a href="/file/open/">x</a>`;
    expect(await router.linksIn(text)).toEqual([
      { source: 'open', path: 'sub/a b & c.png', kind: 'file' },
      { source: 'open', path: 'cat.png', kind: 'thumbnail' },
      { source: 'signed', path: 'cat.png', kind: 'file', signed: true },
      { source: 'signed', path: 'cat.png', kind: 'variant', preset: 'card', signed: true, expired: true },
      { source: 'signed', path: 'cat.png', kind: 'file' },
      { source: 'cdn', path: 'missing.png', kind: 'file' },
      { source: 'cdn', path: 'cat.png', kind: 'file' },
    ]);
  });

  it('says it of variants in folders that are not there, too', async () => {
    const { router } = await start();
    const variant = (folder: string): string => `${folder}/_thumbs/card/Koln~0123456789.png`;
    const paths = [variant('gone'), 'cat.png', variant('cat.png')];
    const text = paths.map((path) => `<img src="https://cdn.example/media/${path}">`).join('');
    const links = paths.map((path) => ({ source: 'cdn', path, kind: 'file' }));
    expect(await router.linksIn(text)).toEqual(links);
  });

  it('knows links below a mount, and those of the public URL', async () => {
    const { router } = await start({}, { publicUrl: 'https://www.example.com/fb' });
    const own = { source: 'open', path: 'cat.png', kind: 'file' };
    for (const url of [
      'https://www.example.com/fb/file/open/cat.png',
      'http://www.example.com/fb/file/open/cat.png',
      '/fb/file/open/cat.png',
      '//www.example.com/fb/file/open/cat.png',
    ])
      expect([url, await router.linksIn(`<img src="${url}">`)]).toEqual([url, [own]]);
    expect(await router.linksIn('<img src="/api/file/open/cat.png">', { base: '/api' })).toEqual([own]);
    expect(await router.linksIn('<img src="https://evil.example/fb/file/open/cat.png">')).toEqual([]);
  });
});

describe('what others write into a text', () => {
  it('obtains no signed link to a picture that has moved where it may not be named', async () => {
    const root = await mkdtemp(join(tmpdir(), 'stowage-texts-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    for (const folder of ['open', 'signed']) await mkdir(join(root, folder));
    await writeFile(join(root, 'open', 'cat.png'), await picture(640, 480));
    const source = (serve: string, folder: string): object => ({
      title: serve,
      root: join(root, folder),
      serve,
      imagePresets: presets,
      redirectMoved: {},
    });
    const sources = { open: source('public', 'open'), signed: source('signed', 'signed') };
    const router = createRouter({ signingSecret: SECRET, sources } as unknown as ConfigInput, {}, quiet);
    onTestFinished(() => router.close());
    const move = new URLSearchParams({ fromSource: 'open', source: 'signed', from: 'cat.png' });
    const moved = await router.fetch(
      new Request(`http://host/fileMove?${move.toString()}`, { method: 'POST' }),
    );
    expect(moved.status).toBe(200);
    const text = '<img src="/file/open/cat.png">';
    expect(await router.renewLinks(text, { sizes: true, srcset: ['card'] })).toBe(text);
  });

  it('costs time in proportion to its length where attributes have no values', async () => {
    const { router } = await start();
    const timeOf = async (count: number): Promise<number> => {
      const before = process.cpuUsage();
      await router.linksIn('<a b>'.repeat(count));
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await timeOf(20_000);
    const [small, large] = [await timeOf(80_000), await timeOf(320_000)];
    // Microseconds that are too short to compare: one collection of garbage takes as long.
    const short = 160_000;
    // Four times the text; its square would be sixteen times.
    expect(large).toBeLessThan(Math.max(short, 12 * small));
  });
});
