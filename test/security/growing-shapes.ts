import { deflateSync } from 'node:zlib';
import { chunk } from '../pictures/containers.ts';
import { quarters } from '../pictures/pictures.ts';

/** Makes a hostile input of about so many bytes. */
export type Shape = (bytes: number) => string | Buffer | Promise<Buffer>;
type TextShape = (bytes: number) => string;

/** A text of about so many bytes: what comes before, something over and over, what comes behind. */
const repeated =
  (part: string, before = '', after = '') =>
  (bytes: number): string =>
    before + part.repeat(Math.ceil(bytes / part.length)) + after;

const nested = (open: string, close: string, before = '', after = '') => {
  const pair = open.length + close.length;
  return (bytes: number): string => {
    const depth = Math.ceil(bytes / pair);
    return before + open.repeat(depth) + close.repeat(depth) + after;
  };
};

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">';
const style = (css: TextShape): Shape => {
  return (bytes) => `${SVG}<style>${css(bytes)}</style></svg>`;
};

export const xmlShapes: Readonly<Record<string, Shape>> = {
  'comments that do not end in a document type': repeated('<!--', '<!DOCTYPE a [<!ENTITY x "', '">]><a/>'),
  'entities of a document type': repeated('<!ENTITY x "a">', '<!DOCTYPE a [', ']><a/>'),
  'blanks in a document type': repeated(' ', '<!DOCTYPE a [<!ENTITY', ']><a/>'),
  'deep elements': nested('<a>', '</a>'),
  'deep elements of names spaces': nested('<n:a xmlns:n="u">', '</n:a>'),
  'elements of a name space far above': repeated(
    '<n:b/>',
    `<n:a xmlns:n="u">${'<a>'.repeat(250)}`,
    `${'</a>'.repeat(250)}</n:a>`,
  ),
  'many elements': repeated('<a x="1"/>', '<a>', '</a>'),
  'one element of many attributes': (bytes) =>
    `<a ${Array.from({ length: bytes / 8 }, (_, index) => `b${String(index)}=""`).join(' ')}/>`,
  'a comment that does not end': repeated('- ', '<a/><!--'),
  'a value that does not end': repeated('x', '<a b="'),
  'a text': repeated('x &amp; ', '<a>', '</a>'),
};

export const svgShapes: Readonly<Record<string, Shape>> = {
  'deep groups': nested('<g>', '</g>', SVG, '</svg>'),
  'many groups': repeated('<g/>', SVG, '</svg>'),
  'braces of CSS that do not close': style(repeated('@media print{')),
  'many style sheets': repeated('<style>a{b:c}</style>', SVG, '</svg>'),
  'rules of CSS': style(repeated('a{b:c}')),
  'at-rules of CSS': style(repeated('@x{}')),
  'comments of CSS that do not end': style(repeated('/*')),
  'fonts of CSS that do not end': style(repeated('url(data:font/a;base64,A')),
  'options of a font': style(repeated(';a', '@font-face{src:url(data:font/a')),
  'one font': style(repeated('A', '@font-face{src:url(data:font/a;base64,', ')}')),
  'selectors of brackets': style(repeated('[a', '', '{b:c}')),
  'parentheses of a value': style(repeated('rgb(', 'a{b:', '}')),
  'blanks of a value': style(repeated(' ', 'a{b:url(', ')}')),
  'a picture in a value': repeated('A', `${SVG}<image href="data:image/png;base64,`, '"/></svg>'),
  'values of an animation': repeated('url( #', `${SVG}<animate attributeName="x" values="`, '"/></svg>'),
};

const png = async (): Promise<Buffer> => quarters().png().toBuffer();
const jpeg = async (): Promise<Buffer> => quarters().jpeg().toBuffer();
const times = (part: Buffer, bytes: number): Buffer => Buffer.alloc(bytes - (bytes % part.length), part);

/** Chunks between the header of a PNG file and its pixels. */
const pngWith =
  (kind: string, content: string): Shape =>
  async (bytes) => {
    const file = await png();
    const start = 8 + 25;
    return Buffer.concat([
      file.subarray(0, start),
      times(chunk(kind, Buffer.from(content, 'latin1')), bytes),
      file.subarray(start),
    ]);
  };

/** Segments at the beginning of a JPEG file. */
const jpegWith =
  (marker: number, content: string): Shape =>
  async (bytes) => {
    const file = await jpeg();
    const segment = Buffer.concat([
      Buffer.from([0xff, marker, 0, content.length + 2]),
      Buffer.from(content, 'latin1'),
    ]);
    return Buffer.concat([file.subarray(0, 2), times(segment, bytes), file.subarray(2)]);
  };

/** A file with something behind its end. */
const behind =
  (file: () => Promise<Buffer>, part: string): Shape =>
  async (bytes) =>
    Buffer.concat([await file(), times(Buffer.from(part, 'latin1'), bytes)]);

/** A directory of EXIF data whose every entry names all bytes as its value. */
const wideExif = (tag: number, bytes: number): Buffer => {
  const count = Math.min(2000, Math.floor(bytes / 24));
  const exif = Buffer.alloc(bytes);
  exif.write('II*\0', 'latin1');
  exif.writeUInt32LE(8, 4);
  exif.writeUInt16LE(count, 8);
  for (let at = 10; at < 10 + count * 12; at += 12) {
    exif.writeUInt16LE(tag, at);
    exif.writeUInt16LE(1, at + 2);
    exif.writeUInt32LE(bytes - 8, at + 4);
    exif.writeUInt32LE(8, at + 8);
  }
  return exif;
};

/** PNG files of tiny chunks, one inside the tail of the other, as pictures of an icon. */
const icon = async (bytes: number): Promise<Buffer> => {
  const [picture, count] = [await png(), 256];
  const file = Buffer.concat([
    picture.subarray(0, 33),
    times(chunk('tEXt', Buffer.from('a\0b')), bytes),
    picture.subarray(33),
  ]);
  const head = Buffer.alloc(6 + count * 16);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(count, 4);
  for (let index = 0; index < count; index += 1) {
    head.writeUInt32LE(file.length, 6 + index * 16 + 8);
    head.writeUInt32LE(head.length, 6 + index * 16 + 12);
  }
  return Buffer.concat([head, file]);
};

const gif = async (): Promise<Buffer> => (await quarters().gif().toBuffer()).subarray(0, -1);
const webp = async (): Promise<Buffer> => quarters().webp().toBuffer();
const avif = async (): Promise<Buffer> => quarters().avif({ effort: 0 }).toBuffer();
const tiff = async (): Promise<Buffer> => quarters().tiff().toBuffer();

/** Chunks behind the pixels of a WebP file, counted in its length. */
const webpWith =
  (kind: string): Shape =>
  async (bytes) => {
    const file = Buffer.concat([await webp(), times(Buffer.from(`${kind}\0\0\0\0`, 'latin1'), bytes)]);
    file.writeUInt32LE(file.length - 8, 4);
    return file;
  };

const resources = (part: string): Shape => {
  const content = `Photoshop 3.0\0${part.repeat(Math.floor(200 / part.length))}`;
  return jpegWith(0xed, content);
};

/** XMP data of a PNG file. */
const xmp =
  (text: TextShape): Shape =>
  async (bytes) => {
    const file = await png();
    const packet = Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${text(bytes)}`);
    return Buffer.concat([file.subarray(0, 33), chunk('iTXt', packet), file.subarray(33)]);
  };

const bmp = (bytes: number): Buffer => {
  // RLE8: jumps that stay where they are.
  const file = Buffer.alloc(54 + 1024 + bytes);
  file.write('BM', 'latin1');
  file.writeUInt32LE(54 + 1024, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(100, 18);
  file.writeInt32LE(100, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(8, 28);
  file.writeUInt32LE(1, 30);
  file.fill(Buffer.from([0, 2, 0, 0]), 54 + 1024);
  file.set([0, 1], file.length - 2);
  return file;
};

export const pictureShapes: Readonly<Record<string, Shape>> = {
  'PNG: tiny chunks': pngWith('tEXt', 'a\0b'),
  'PNG: packed texts of one letter each': pngWith('zTXt', `a\0\0${deflateSync('b').toString('latin1')}`),
  'PNG: empty chunks': pngWith('abCd', ''),
  'PNG: chunks with EXIF data': pngWith('abCd', 'II*\0\x08\0\0\0'),
  'PNG: a profile in a text': async (bytes) => {
    const file = await png();
    const text = Buffer.from(
      `Raw profile type exif\0\nexif\n${'\n'.repeat(bytes / 2)}${'9'.repeat(bytes / 2)}`,
    );
    return Buffer.concat([file.subarray(0, 33), chunk('tEXt', text), file.subarray(33)]);
  },
  'PNG: headers of EXIF data behind': behind(png, 'II*\0'),
  'PNG: letters that begin EXIF data': behind(png, 'I'),
  'XMP: tags': xmp(repeated('<exif:GPSLatitude>')),
  'XMP: attributes': xmp(repeated('a=" ', '<x:gps ')),
  'XMP: comments': xmp(repeated('<!--gps-->')),
  'XMP: names': xmp(repeated('a', '<gps')),
  'JPEG: many segments': jpegWith(0xe1, ''),
  'JPEG: segments of EXIF data': jpegWith(0xe1, 'Exif\0\0II*\0\x08\0\0\0\0\0'),
  'JPEG: parts of XMP data': jpegWith(0xe1, `http://ns.adobe.com/xmp/extension/\0${'0'.repeat(41)}`),
  'JPEG: segments of thermal cameras': jpegWith(0xe1, 'FLIR\0\x01\0\0FFF\0'),
  'JPEG: resources of editors': resources('8BIM\x04\x04\0\0\0\0\0\0'),
  'JPEG: keywords of editors': resources('geo:lat=geo:lon='),
  'JPEG: segments of makers': jpegWith(0xe5, 'II*\0\x08\0\0\0'),
  'JPEG: markers of pixels': behind(jpeg, '\xff\0'),
  'JPEG: pictures behind': behind(jpeg, '\xff\xd8\xff'),
  'EXIF: values that are the whole file': async (bytes) => {
    const file = await png();
    return Buffer.concat([file.subarray(0, 33), chunk('eXIf', wideExif(0x830e, bytes)), file.subarray(33)]);
  },
  'TIFF: values that are the whole file': async (bytes) => {
    const file = await tiff();
    const at = file.readUInt32LE(4);
    const [count, size] = [file.readUInt16LE(at), bytes + file.length];
    const all = Buffer.alloc(size + 2 + 2000 * 12 + 4);
    file.copy(all);
    all.writeUInt32LE(size, 4);
    all.writeUInt16LE(count + 1500, size);
    file.copy(all, size + 2, at + 2, at + 2 + count * 12);
    for (let entry = size + 2 + count * 12; entry < size + 2 + (count + 1500) * 12; entry += 12) {
      all.writeUInt16LE(0xc000, entry);
      all.writeUInt16LE(1, entry + 2);
      all.writeUInt32LE(bytes, entry + 4);
      all.writeUInt32LE(file.length, entry + 8);
    }
    return all;
  },
  'TIFF: headers in its pixels': behind(tiff, 'MM\0*'),
  'ICO: entries that name one picture': icon,
  'BMP: jumps that lead nowhere': bmp,
  'GIF: empty extensions': behind(gif, '!\xff\0'),
  'GIF: comments of one letter each': async (bytes) =>
    Buffer.concat([
      await gif(),
      Buffer.from('!\xfe', 'latin1'),
      times(Buffer.from('\x01a'), bytes),
      Buffer.from('\0;'),
    ]),
  'WebP: empty chunks': webpWith('abcd'),
  'WebP: frames inside of frames': webpWith('ANMF'),
  'AVIF: names of items': behind(avif, '\0\0\0\x0cfreeinfe'),
  'AVIF: empty boxes': behind(avif, '\0\0\0\x08free'),
  'AVIF: words of positions': behind(avif, 'latitud'),
};

const css = (text: TextShape): Shape => {
  return (bytes) => `<style>${text(bytes)}</style><p class="a">x</p>`;
};

/** Of elements there are few: the library that writes documents takes some milliseconds for each. */
export const htmlShapes: Readonly<Record<string, Shape>> = {
  'attributes of an element': (bytes) =>
    `<p ${Array.from({ length: bytes / 8 }, (_, index) => `a${String(index)}`).join(' ')}>x`,
  'classes of an element': (bytes) =>
    `<style>${'.a.b{b:c}'.repeat(bytes / 20)}</style><p class="${'a '.repeat(bytes / 4)}">x`,
  'braces of CSS': css(repeated('a{')),
  'blocks of CSS': css(nested('@media print{', '}')),
  'at-rules of CSS': css(repeated('@x{}')),
  'imports of CSS': css(repeated('@import "x";')),
  'an import of blanks': css(repeated(' ', '@import url(', 'x);')),
  'comments of CSS': css(repeated('/*')),
  'steps of a selector': css(repeated('a>', '', 'a{b:c}')),
  'blanks of a selector': css(repeated(' ', 'a', 'a{b:c}')),
  'brackets of a selector': css(repeated('[a', '', '{b:c}')),
  'quotes of a selector': css(repeated("[a='", '', '{b:c}')),
  'digits of a font': css(repeated('1', 'p{font:', '}')),
  'sizes of a font': css(repeated('1a/', 'p{font:', '}')),
  'blanks of a value': css(repeated(' ', 'p{color:a !', 'x}')),
  'names of boxes': css(repeated('@a{', '@page{', '}}')),
  'a picture of blanks': repeated(' ', '<img src="data:image/png;base64,', '">'),
  'a style that does not end': repeated('"', '<p style="color:', '">x'),
};

const HREF = '<response><href>';
const dav = (part: TextShape): Shape => {
  return (bytes) => `<multistatus xmlns="DAV:">${part(bytes)}</multistatus>`;
};

export const davShapes: Readonly<Record<string, Shape>> = {
  'deep elements': dav(nested('<prop>', '</prop>')),
  'many answers': dav(repeated('<response><href>/a</href></response>')),
  'many properties': dav(repeated('<x/>', '<response><propstat><prop>', '</prop></propstat></response>')),
  'attributes of an element': dav(
    (bytes) => `<x ${Array.from({ length: bytes / 8 }, (_, index) => `a${String(index)}=""`).join(' ')}/>`,
  ),
  'a text that does not end': dav(repeated('x', HREF)),
  'a comment that does not end': dav(repeated('-', '<!-- ')),
};
