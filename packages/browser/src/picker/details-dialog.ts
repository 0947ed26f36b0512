import { pixelsOf } from './cell.ts';
import type { Dialogs } from './dialogs.ts';
import { h } from './dom.ts';
import type { Entry, SourceInfo } from './service.ts';
import { humanSize, humanTime, type Texts } from './texts.ts';

/** All that is known of an entry, with a large picture. */
export const openDetails = (
  { name, type, source, path, url, bytes, modified, mime, width, height }: Entry,
  sources: readonly SourceInfo[],
  dialogs: Dialogs,
  texts: Texts,
): Promise<undefined> => {
  const title = sources.find((one) => one.name === source)?.title ?? source;
  const facts: readonly (readonly [string, string | undefined])[] = [
    [texts.location, [title, ...path.split('/').filter((part) => part !== '')].join(' / ')],
    [texts.type, type === 'folder' ? texts.folder : mime],
    [texts.dimensions, pixelsOf({ width, height }) || undefined],
    [texts.size, bytes === undefined ? undefined : humanSize(texts, bytes)],
    [texts.changed, modified === undefined ? undefined : humanTime(texts, modified)],
  ];
  return dialogs.open<undefined>(
    name,
    () => {
      const list = h('dl', {});
      for (const [term, value] of facts)
        if (value !== undefined) list.append(h('dt', {}, term), h('dd', { dir: 'auto' }, value));
      const preview =
        type === 'image' && url !== undefined
          ? [h('div', { class: 'picture-frame' }, h('img', { src: url, alt: name, class: 'preview' }))]
          : [];
      return { body: [...preview, list] };
    },
    'wide',
  );
};
