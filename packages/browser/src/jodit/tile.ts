import type { FileBrowser, Item, ListedSource } from './editor.ts';
import { escapeHtml } from './element.ts';
import type { Texts } from './texts/texts.ts';

interface TileOptions {
  readonly showFileName?: boolean;
  readonly showFileSize?: boolean;
  readonly showFileChangeTime?: boolean;
}

type TileTemplate = (
  this: Pick<FileBrowser, 'files'> & { readonly options: TileOptions },
  item: Item,
  source: ListedSource,
  sourceName: string,
) => string;

const attributesOf = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}="${escapeHtml(value ?? '')}"`)
    .join(' ');

/**
 * Has the tree show names of folders and sources as text. Jodit 4.15.13 reads them as HTML: a folder that another
 * program has named `<img onerror=…>` would run a script in the page.
 */
export const showTreeNamesAsText = ({ create, tree }: FileBrowser): void => {
  const titles = ['item-title', 'source-title'].map((part) => tree.getFullElName(part));
  for (const tag of ['span', 'div'] as const) {
    const make = create[tag].bind(create);
    create[tag] = (className, children, ...rest) => {
      const isName = typeof children === 'string' && titles.includes(className ?? '');
      return make(className, isName ? document.createTextNode(children) : children, ...rest);
    };
  }
};

/**
 * The tile of a file. That of Jodit 4.15.13 writes names into HTML as they are, so that a name with a quote
 * or `<` becomes markup, and the connector's time as it came, in the zone of the server; this one has the
 * person's own time and manner of writing it.
 */
export const tileTemplate = ({ locale }: Texts): TileTemplate => {
  const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  const timeOf = ({ modified, time }: Item): string => {
    const date = new Date(modified ?? Number.NaN);
    return Number.isNaN(date.getTime()) ? time : times.format(date);
  };
  const factsOf = (item: Item, name: string, options: TileOptions): (readonly string[])[] => {
    const { showFileName = true, showFileSize = true, showFileChangeTime = true } = options;
    // A search is about where things are, and a tile is small.
    const more =
      item.where === undefined
        ? [
            ['filesize', showFileSize ? (item.size ?? '') : ''],
            ['filechanged', showFileChangeTime ? timeOf(item) : ''],
          ]
        : [['where', item.where]];
    return [['filename', showFileName ? name : ''], ...more].filter(([, text]) => text !== '');
  };
  return function (item, _source, sourceName) {
    const { showFileName = true } = this.options;
    const className = this.files.getFullElName('item');
    const name = item.name ?? item.file ?? '';
    const facts = factsOf(item, name, this.options);
    const info = facts.map(
      ([fact = '', text = '']) => `<span class="${className}-info-${fact}">${escapeHtml(text)}</span>`,
    );
    const isFile = item.isImage === true ? '0' : '1';
    const link = attributesOf({
      'data-jodit-file-browser-item': 'true',
      'data-is-file': isFile,
      'data-source': sourceName,
      'data-path': item.path,
      'data-name': name,
      'data-url': item.fileURL,
      class: className,
      href: item.fileURL,
      title: item.where === undefined ? name : `${name}\n${item.where}`,
      draggable: 'true',
      role: 'option',
      tabindex: '-1',
      'aria-selected': 'false',
    });
    const picture = attributesOf({
      'data-is-file': isFile,
      'data-src': item.fileURL,
      src: item.imageURL,
      alt: name,
      loading: 'lazy',
      // The name stands beside it.
      'aria-hidden': showFileName ? 'true' : 'false',
    });
    const rows = info.length === 0 ? '' : `<div class="${className}-info">${info.join('')}</div>`;
    return `<a ${link}><img ${picture}/>${rows}</a>`;
  };
};
