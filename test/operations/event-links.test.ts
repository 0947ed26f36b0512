import type { ServiceEvent } from 'stowage';
import { beforeEach, describe, expect, it } from 'vitest';
import { photo } from '../pictures/pictures.ts';
import { formOf, startService, type Fields, type Service } from '../protocol/service.ts';

interface ListedFile {
  readonly name: string;
  readonly file: string;
  readonly thumb?: string;
  readonly variants?: Readonly<Record<string, string>>;
}

interface ListedSource {
  readonly baseurl: string;
  readonly path: string;
  readonly files: readonly ListedFile[];
}

const served = { baseurl: undefined, serve: 'public' };
const imagePresets = { card: { width: 12, height: 12, format: 'webp' }, wide: { width: 16 } } as const;
const sources = {
  own: served,
  other: served,
  signed: { baseurl: undefined, serve: 'signed' },
  bucket: { baseurl: 'https://cdn.example/b/', serve: 'off' },
};

/** As a browser requests what a page has written, without what a cache leaves out. */
const requested = (address: string): string => {
  const { origin, pathname } = new URL(address, 'http://page.invalid/');
  return origin === 'http://page.invalid' ? pathname : origin + pathname;
};

/** The addresses that a listing gives for each of the files, joined as the editor joins them. */
const shownIn = async (
  service: Service,
  source: string,
  path = '',
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const fields = { source, path, 'mods[variants]': '1' };
  const { data } = await service.call('files', fields);
  const [listed] = data['sources'] as readonly ListedSource[];
  if (listed === undefined) throw new Error('nothing listed');
  const folder = listed.baseurl + (path === '' ? '' : `${path}/`);
  const entries = listed.files.map(({ name, file, thumb = '', variants = {} }) => {
    const all = [file, thumb, ...Object.values(variants)];
    const joined = all.map((link) => requested(/^(?:https?:|\/)/u.test(link) ? link : folder + link));
    return [name, [...new Set(joined)].sort()] as const;
  });
  return Object.fromEntries(entries);
};

describe('links of events', () => {
  let service: Service;
  let events: ServiceEvent[];

  const start = async (options: object = {}): Promise<void> => {
    events = [];
    const settings = { saveSameFileNameStrategy: 'replace', trash: {}, ...options } as const;
    service = await startService(
      { sources, imagePresets, signingSecret: 'x'.repeat(40), ...settings },
      { onEvent: (event) => void events.push(event) },
    );
  };
  beforeEach(() => start());

  /** What the last event names. */
  const told = (): { type?: string; links?: readonly string[]; oldLinks?: readonly string[] } => {
    const { type, links, oldLinks } = events.at(-1) ?? {};
    return {
      ...(type && { type }),
      ...(links && { links: [...links].sort() }),
      ...(oldLinks && { oldLinks: [...oldLinks].sort() }),
    };
  };
  const call = async (action: string, fields: Fields): Promise<void> => {
    expect((await service.call(action, fields)).status).toBe(200);
  };
  const upload = async (source: string, name: string, path = ''): Promise<void> => {
    const file = new Uint8Array(await photo(40, 30));
    expect((await service.upload([['files[0]', name, file]], { source, path })).status).toBe(200);
  };

  it.each(['own', 'signed', 'bucket'])(
    'are those that listings give, from the upload to the removal (%s)',
    async (source) => {
      await call('folderCreate', { source, name: 'to' });
      await upload(source, 'a b.jpg');
      const shown = (await shownIn(service, source))['a b.jpg'] ?? [];
      expect(shown).toHaveLength(4);
      expect(shown.join()).not.toContain('signature');
      expect(told()).toEqual({ type: 'file.created', links: shown });
      await upload(source, 'a b.jpg');
      expect(told()).toEqual({ type: 'file.replaced', links: shown });
      const form = formOf([['files[0]', 'x.jpg', new Uint8Array(await photo(8, 8))]], {
        source,
        name: 'a b.jpg',
      });
      expect((await fetch(`${service.url}/fileReplace`, { method: 'POST', body: form })).status).toBe(200);
      expect(told()).toEqual({ type: 'file.replaced', links: shown });
      await call('imageResize', { source, name: 'a b.jpg', 'box[w]': '20', 'box[h]': '10' });
      expect(told()).toEqual({ type: 'image.edited', links: shown });
      await call('fileDescribe', { source, name: 'a b.jpg', 'focalPoint[x]': '0', 'focalPoint[y]': '0' });
      expect(told()).toEqual({ type: 'file.described', links: shown });

      await call('fileRename', { source, name: 'a b.jpg', newname: 'ü.jpg' });
      const renamed = (await shownIn(service, source))['ü.jpg'];
      expect(told()).toEqual({ type: 'file.moved', links: renamed, oldLinks: shown });
      await call('fileMove', { source, from: 'ü.jpg', path: 'to' });
      const moved = (await shownIn(service, source, 'to'))['ü.jpg'];
      expect(told()).toEqual({ type: 'file.moved', links: moved, oldLinks: renamed });
      await call('fileCopy', { source, from: 'to/ü.jpg', path: '' });
      expect(told()).toEqual({ type: 'file.copied', links: renamed });

      await call('fileRemove', { source, path: 'to', name: 'ü.jpg' });
      expect(told()).toEqual({ type: 'file.removed', oldLinks: moved });
      const [item] = (await service.call('trashList', { source })).data['items'] as { id: string }[];
      await call('trashRestore', { source, id: item?.id ?? '' });
      expect(told()).toEqual({ type: 'file.restored', links: moved });
      await call('fileRemove', { source, path: 'to', name: 'ü.jpg' });
      await call('trashEmpty', { source });
      expect(told()).toEqual({ type: 'trash.emptied' });
    },
  );

  it('belong to both sources of a move', async () => {
    await upload('bucket', 'a.jpg');
    const before = (await shownIn(service, 'bucket'))['a.jpg'];
    await call('fileMove', { source: 'own', fromSource: 'bucket', from: 'a.jpg' });
    const after = (await shownIn(service, 'own'))['a.jpg'];
    expect(told()).toEqual({ type: 'file.moved', links: after, oldLinks: before });
    expect([before?.[0], after?.[1]]).toEqual([
      'https://cdn.example/b/_thumbs/a.jpg',
      '/file/own/_thumbs/card/a.jpg',
    ]);
  });

  it('name where something was that is restored under another name', async () => {
    await upload('own', 'a.jpg');
    const before = (await shownIn(service, 'own'))['a.jpg'];
    await call('fileRemove', { source: 'own', name: 'a.jpg' });
    await upload('own', 'a.jpg');
    const [item] = (await service.call('trashList', { source: 'own' })).data['items'] as { id: string }[];
    await call('trashRestore', { source: 'own', id: item?.id ?? '' });
    const after = (await shownIn(service, 'own'))['a (1).jpg'];
    expect(told()).toEqual({ type: 'file.restored', links: after, oldLinks: before });
  });

  it('of a folder are what all in it begin with', async () => {
    await call('folderCreate', { source: 'own', name: 'a b' });
    expect(told()).toEqual({ type: 'folder.created', links: ['/file/own/a%20b/'] });
    await upload('own', 'a.jpg', 'a b');
    await call('folderRename', { source: 'own', name: 'a b', newname: 'c' });
    expect(told()).toEqual({
      type: 'folder.moved',
      links: ['/file/own/c/'],
      oldLinks: ['/file/own/a%20b/'],
    });
    await call('folderRemove', { source: 'own', name: 'c' });
    expect(told()).toEqual({ type: 'folder.removed', oldLinks: ['/file/own/c/'] });
  });

  it('have both spellings where a page that joins names writes another than a link', async () => {
    await upload('own', 'a+b.txt.jpg');
    const pages = (await shownIn(service, 'own'))['a+b.txt.jpg'];
    const { links = [] } = told();
    expect(links).toEqual(expect.arrayContaining([...(pages ?? []), '/file/own/a%2Bb.txt.jpg']));
    expect(links).toHaveLength(5);
    for (const link of links) expect([link, (await fetch(service.url + link)).status]).toEqual([link, 200]);
  });

  it('are absolute where the service knows its address, and leave out what is not drawn', async () => {
    await start({ publicUrl: 'https://www.example.com/connector', createThumb: false, imagePresets: {} });
    await upload('own', 'a.jpg');
    expect(told().links).toEqual(['https://www.example.com/connector/file/own/a.jpg']);
    await service.upload([['files[0]', 'a.txt', 'text']], { source: 'bucket' });
    expect(told().links).toEqual(['https://cdn.example/b/a.txt']);
  });

  it('are not there before it happens, and not of documents', async () => {
    const asked: ServiceEvent[] = [];
    service = await startService(
      { sources: { own: served } },
      { beforeEvent: (event) => void asked.push(event), onEvent: (event) => void events.push(event) },
    );
    await service.upload([['files[0]', 'a.txt', 'text']], { source: 'own' });
    await service.get('generateDocx', { html: '<p>text</p>' });
    expect(asked.map((event) => 'links' in event)).toEqual([false, false]);
    expect(told()).toEqual({ type: 'document.made' });
  });
});
