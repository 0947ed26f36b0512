/** Ways to ask for every action, and to send what asks. */

type Value = string | readonly string[] | { readonly [name: string]: string };
export type Parameters = Readonly<Record<string, Value>>;

/** One way to ask for an action. `id` is what lies in the trash. */
export interface Trial {
  readonly fields: (about: { readonly id: string; readonly site: string }) => Parameters;
  readonly kind?: 'file' | 'folder';
  readonly file?: true;
  /** It goes into the trash before. */
  readonly trashed?: string;
  /** It goes elsewhere: the keys of making it count there alone. */
  readonly isElsewhere?: boolean;
  /** The action changes something, though it need not. */
  readonly saves?: true;
  /** A program that may not be installed makes it. */
  readonly isUntried?: true;
}

const place = { path: 'd' };
const png = { ...place, name: 'a.png' };
const items = { ...place, names: ['a.png', 'b.txt'] };
const edited = { fields: () => ({ ...png, box: { w: '5', h: '5', x: '0', y: '0' } }) };
const moved = (from: Parameters): Trial => ({ fields: () => ({ ...from, path: 'to' }) });
const inTrash = (fields: Parameters = {}): readonly Trial[] => [
  { fields: ({ id }) => ({ ...fields, id }), trashed: 'd/b.txt' },
  { fields: ({ id }) => ({ ...fields, id }), trashed: 'd/f', kind: 'folder' },
];
/** Every action, in every way of naming what it works on. */
export const trials: Readonly<Record<string, readonly Trial[]>> = {
  permissions: [{ fields: () => place }],
  files: [{ fields: () => ({ ...place, mods: { details: 'true', withFolders: 'true' } }) }],
  folders: [{ fields: () => place }],
  fileUpload: [
    { fields: () => place, file: true },
    ...['ckeditor', 'tinymce', 'editorjs', 'froala'].map((responseType): Trial => ({
      fields: () => ({ ...place, responseType }),
      file: true,
    })),
  ],
  fileUploadRemote: [
    { fields: ({ site }) => ({ ...place, url: `${site}/far.txt` }) },
    { fields: ({ site }) => ({ ...place, url: `${site}/far.txt`, responseType: 'tinymce' }) },
  ],
  fileRemove: [{ fields: () => png }, { fields: () => items }],
  fileMove: [moved({ from: 'd/a.png' }), moved({ froms: ['d/a.png', 'd/b.txt'] })],
  fileCopy: [moved({ from: 'd/a.png' }), moved({ froms: ['d/a.png', 'd/b.txt'] })],
  fileRename: [
    { fields: () => ({ ...png, newname: 'c' }) },
    { fields: () => ({ ...place, name: 'f', newname: 'g' }), kind: 'folder' },
  ],
  fileDownload: [
    { fields: () => png },
    { fields: () => items },
    { fields: () => ({ ...place, names: ['f'] }), kind: 'folder' },
  ],
  getLocalFileByUrl: [{ fields: () => ({ url: 'https://files.example/files/d/a.png' }) }],
  folderCreate: [{ fields: () => ({ ...place, name: 'new' }), kind: 'folder' }],
  folderRemove: [
    { fields: () => ({ ...place, name: 'f' }), kind: 'folder' },
    { fields: () => ({ ...place, names: ['f'] }), kind: 'folder' },
  ],
  folderMove: [
    { ...moved({ from: 'd/f' }), kind: 'folder' },
    { ...moved({ froms: ['d/f'] }), kind: 'folder' },
  ],
  folderCopy: [
    { ...moved({ from: 'd/f' }), kind: 'folder' },
    { ...moved({ froms: ['d/f'] }), kind: 'folder' },
  ],
  folderRename: [{ fields: () => ({ ...place, name: 'f', newname: 'g' }), kind: 'folder' }],
  imageResize: [edited, { fields: () => ({ ...edited.fields(), newname: 'small.png' }) }],
  imageCrop: [edited, { fields: () => ({ ...edited.fields(), newname: 'cut.png' }) }],
  imageRotate: [{ fields: () => ({ ...png, angle: '90' }) }],
  imageSave: [
    { fields: () => png, file: true },
    { fields: () => ({ ...place, newname: 'saved.png' }), file: true },
  ],
  imageLoad: [{ fields: () => ({ url: 'https://files.example/files/d/a.png', ...png }) }],
  imageVariant: [{ fields: () => ({ ...png, preset: 'card' }) }],
  generatePdf: [
    { fields: () => ({ html: '<p>x</p>' }), kind: 'folder', isUntried: true },
    {
      fields: () => ({ ...place, html: '<p>x</p>', name: 'made.pdf' }),
      saves: true,
      isUntried: true,
    },
  ],
  generateDocx: [
    { fields: () => ({ html: '<p>x</p>' }), kind: 'folder' },
    { fields: () => ({ ...place, html: '<p>x</p>', name: 'made.docx' }), saves: true },
  ],
  trashList: inTrash(),
  trashRestore: [
    ...inTrash(),
    ...inTrash({ path: 'to' }).map((trial): Trial => ({ ...trial, isElsewhere: true })),
  ],
  trashRemove: inTrash(),
  trashEmpty: inTrash(),
  filesSearch: [
    { fields: () => ({ ...place, query: 'b' }) },
    { fields: () => ({ ...place, query: 'f', type: 'folder' }), kind: 'folder' },
  ],
};

const flat = (fields: Parameters): readonly (readonly [string, string])[] =>
  Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] => {
    if (typeof value === 'string') return [[name, value]];
    if (Array.isArray(value)) return value.map((one: string) => [`${name}[]`, one] as const);
    return Object.entries(value as Record<string, string>).map(
      ([inner, text]) => [`${name}[${inner}]`, text] as const,
    );
  });

export type Send = (url: string, headers: Record<string, string>, fields: Parameters) => Promise<Response>;

export const form: Send = (url, headers, fields) =>
  fetch(url, { method: 'POST', headers, body: new URLSearchParams(flat(fields).map(([...pair]) => pair)) });

export const json: Send = (url, headers, fields) =>
  fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  });

export const query: Send = (url, headers, fields) =>
  fetch(`${url}?${new URLSearchParams(flat(fields).map(([...pair]) => pair)).toString()}`, { headers });

export const multipart =
  (file: Buffer<ArrayBuffer>): Send =>
  (url, headers, fields) => {
    const body = new FormData();
    for (const [name, value] of flat(fields)) body.append(name, value);
    body.append('files[0]', new Blob([file]), 'sent.png');
    return fetch(url, { method: 'POST', headers, body });
  };
