import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'puppeteer-core';

const root = path.join(import.meta.dirname, '../..');

/** Where the editors are installed: apart from all that every run needs, of which they would be a third. */
const editors = path.join(import.meta.dirname, 'editors');

/** Goes into the title of what needs the editors, so that a run without them says what it left out. */
export const needsEditors = existsSync(path.join(editors, 'node_modules'))
  ? ''
  : ' [left out: run npm ci in test/client/editors]';

/** The packages behind `ckeditor5`, which has 100 MB more that no example needs. */
const CKEDITOR = ['editor-classic', 'essentials', 'paragraph', 'image', 'link', 'ui'];

/** Attributes of a picture. */
export type Attributes = Readonly<Record<string, string>>;

/** The example of a page in `docs/editors`, and how a person uses it. */
export interface Sample {
  /** The page in `docs/editors`. */
  readonly page: string;
  /** An expression of the page for the document as HTML, or a promise of it. */
  readonly html: string;
  /** Where people type. */
  readonly area: string;
  readonly browse: (page: Page) => Promise<void>;
  /** Ends the dialog of the editor after a file was picked. */
  readonly confirm?: (page: Page) => Promise<void>;
  /** What the editor says of a file that is refused; where absent it is in an alert. */
  readonly said?: string;
  /** Of which pictures the document keeps the caption: it has a place for captions of no others. */
  readonly captions?: readonly ('uploaded' | 'picked')[];
  /** How the document keeps a picture, where it has other attributes. */
  readonly kept?: (attributes: Attributes) => Attributes;
}

export const click =
  (selector: string) =>
  async (page: Page): Promise<void> =>
    (await page.waitForSelector(selector))?.click();

export const samples: readonly Sample[] = [
  {
    page: 'tinymce',
    html: 'tinymce.activeEditor.getContent()',
    area: '#editor_ifr',
    browse: async (page) => {
      await click('button[data-mce-name="image"]')(page);
      await click('.tox-dialog .tox-browse-url')(page);
    },
    confirm: async (page) => {
      await page.waitForFunction('document.querySelector(".tox-dialog input").value !== ""');
      await click('.tox-dialog button[data-mce-name="Save"]')(page);
    },
    said: '.tox-notification',
    captions: ['uploaded', 'picked'],
  },
  {
    page: 'ckeditor',
    html: 'editor.getData()',
    area: '.ck-content',
    browse: async (page) => {
      // Behind the picture, which is selected.
      await page.keyboard.press('Enter');
      await click('button[data-cke-tooltip-text="Choose files"]')(page);
    },
    captions: ['uploaded', 'picked'],
  },
  { page: 'tiptap', html: 'editor.getHTML()', area: '.tiptap', browse: click('#browse') },
  { page: 'quill', html: 'quill.root.innerHTML', area: '.ql-editor', browse: click('button.ql-image') },
  {
    page: 'summernote',
    html: 'editor.summernote("code")',
    area: '.note-editable',
    browse: click('button.browse'),
  },
  {
    page: 'editorjs',
    // What the editor saves, as a page would draw it.
    html: `editor.save().then(({ blocks }) => blocks.filter(({ data }) => data.file?.url).map(
      ({ data: { file, caption } }) =>
        Object.assign(new Image(), { alt: file.alt, width: file.width, height: file.height }).outerHTML
          .replace('<img', '<img src="' + file.url + '"') +
        (caption && '<figcaption>' + caption + '</figcaption>')).join(''))`,
    area: '#editor .ce-block [contenteditable]',
    browse: click('#browse'),
    captions: ['picked'],
  },
  {
    page: 'froala',
    html: 'editor.html.get()',
    area: '.fr-element',
    browse: async (page) => {
      // The picture is chosen, and the toolbar is its own.
      await page.keyboard.press('Escape');
      await click('button[data-cmd="browseFiles"]:not(.fr-disabled)')(page);
    },
    captions: ['uploaded', 'picked'],
  },
  {
    page: 'suneditor',
    html: 'editor.$.html.get()',
    area: '.se-wrapper-wysiwyg',
    browse: click('#browse'),
    kept: ({ src = '', alt = '', width, height }) => ({
      src,
      alt,
      style: `width: ${String(width)}px; height: ${String(height)}px;`,
    }),
  },
  {
    page: 'lexical',
    html: 'editor.getRootElement().innerHTML',
    area: '#editor',
    browse: click('#browse'),
  },
  {
    page: 'milkdown',
    html: 'document.querySelector(".milkdown .editor").innerHTML',
    area: '.milkdown .editor',
    browse: click('#browse'),
  },
  {
    page: 'blocknote',
    html: 'editor.blocksToHTMLLossy()',
    area: '.bn-editor',
    browse: click('#browse'),
    captions: ['uploaded', 'picked'],
    kept: ({ src = '', alt = '', width = '' }) => ({ src, alt, width }),
  },
];

/** The browsers of pictures that editors have themselves, fed by `files?responseType=`. */
export const galleries = [
  {
    page: 'froala',
    open: ['button[data-cmd="insertImage"]', 'button[data-cmd="imageManager"]'],
    listed: '.fr-image-list img',
    choose: async (page: Page): Promise<void> => {
      await page.hover('.fr-image-list .fr-image-container');
      await page.locator('.fr-image-list .fr-insert-img').click();
    },
  },
  {
    page: 'suneditor',
    open: ['button[data-command="imageGallery"]'],
    listed: '.se-file-item-img img',
    // A locator waits until the picture has loaded and its tile stands still.
    choose: (page: Page): Promise<void> => page.locator('.se-file-item-img').click(),
  },
] as const;

/** The example of a page: its program, a module that it imports from beside it, and what of HTML it needs. */
export const exampleOf = async (
  name: string,
): Promise<{ readonly js: string; readonly module: string; readonly html: string }> => {
  const text = await readFile(path.join(root, 'docs/editors', `${name}.md`), 'utf8');
  const blocks = (language: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gmsu'))].map(
      ([, block = '']) => block,
    );
  const [js = '', module = ''] = blocks('js');
  return { js, module, html: blocks('html')[0] ?? '' };
};

/** The page with its styles, and its program. */
export const bundled = async ({
  page,
  html,
}: Pick<Sample, 'page' | 'html'>): Promise<{ readonly document: string; readonly js: string }> => {
  const example = await exampleOf(page);
  const instance = /^\w+/u.exec(html)?.[0] ?? '';
  const { outputFiles } = await build({
    stdin: { contents: `${example.js}\nObject.assign(globalThis, { ${instance} });`, resolveDir: editors },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    outdir: '/',
    logLevel: 'error',
    external: ['*.eot', '*.eot?#iefix', '*.woff', '*.woff2', '*.ttf'],
    plugins: [
      {
        name: 'examples',
        setup: (building) => {
          building.onResolve({ filter: /^\.\/image-node/ }, () => ({ path: 'module', namespace: 'beside' }));
          building.onLoad({ filter: /./, namespace: 'beside' }, () => ({
            contents: example.module,
            resolveDir: editors,
          }));
          building.onResolve({ filter: /^ckeditor5/ }, ({ path: name }) => ({
            path: name,
            namespace: 'ckeditor',
          }));
          building.onLoad({ filter: /./, namespace: 'ckeditor' }, ({ path: name }) => ({
            contents: name.endsWith('.css')
              ? ''
              : CKEDITOR.map((part) => `export * from '@ckeditor/ckeditor5-${part}';`).join('\n'),
            resolveDir: editors,
          }));
        },
      },
    ],
  });
  const textOf = (ending: string): string =>
    outputFiles.find(({ path: name }) => name.endsWith(ending))?.text ?? '';
  const head = `<!doctype html><meta charset="utf-8"><style>${textOf('.css')}</style>`;
  const document = `${head}${example.html}<script type="module" src="/${page}.js"></script>`;
  return { document, js: textOf('.js') };
};
