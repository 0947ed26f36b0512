/**
 * AVIF files whose EXIF data lies in odd ways, made of those that the library writes.
 * @see ISO/IEC 14496-12, 8.11
 */

/** `extents`: in two parts, the second before the first. `idat`: inside the header. `twice`: in two items. */
export type ExifLayout = 'extents' | 'idat' | 'twice';

interface Box {
  readonly kind: string;
  readonly content: Buffer;
}

/** A part of an item, by its first byte and its length. */
type Extent = readonly [start: number, length: number];

interface Item {
  readonly id: number;
  readonly isInHeader: boolean;
  readonly extents: readonly Extent[];
}

const uint16 = (...numbers: readonly number[]): Buffer =>
  Buffer.from(numbers.flatMap((number) => [number >> 8, number & 0xff]));

const uint32 = (...numbers: readonly number[]): Buffer =>
  uint16(...numbers.flatMap((number) => [Math.floor(number / 0x10000), number % 0x10000]));

const box = (kind: string, ...content: readonly Buffer[]): Buffer => {
  const joined = Buffer.concat(content);
  return Buffer.concat([uint32(joined.length + 8), Buffer.from(kind, 'latin1'), joined]);
};

const boxesOf = (bytes: Buffer): readonly Box[] => {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length; at += bytes.readUInt32BE(at)) {
    const end = at + bytes.readUInt32BE(at);
    boxes.push({ kind: bytes.toString('latin1', at + 4, at + 8), content: bytes.subarray(at + 8, end) });
  }
  return boxes;
};

/** The items of a box as the library writes it: of version 0, each with a base and one extent of its own. */
const itemsOf = (iloc: Buffer): readonly Item[] =>
  Array.from({ length: iloc.readUInt16BE(6) }, (_, index) => {
    const at = 8 + index * 18;
    const start = iloc.readUInt32BE(at + 4) + iloc.readUInt32BE(at + 10);
    const extents = [[start, iloc.readUInt32BE(at + 14)]] as const;
    return { id: iloc.readUInt16BE(at), isInHeader: false, extents };
  });

const encodeItems = (items: readonly Item[]): Buffer =>
  box(
    'iloc',
    Buffer.from([1, 0, 0, 0, 0x44, 0]),
    uint16(items.length),
    ...items.flatMap(({ id, isInHeader, extents }) => [
      uint16(id, isInHeader ? 1 : 0, 0, extents.length),
      uint32(...extents.flat()),
    ]),
  );

/** The header with other items, an item more where its number is given, and data of its own. */
const encodeMeta = (meta: Buffer, items: readonly Item[], more?: number, data?: Buffer): Buffer => {
  const boxes = boxesOf(meta.subarray(4)).map(({ kind, content }) => {
    if (kind === 'iloc') return encodeItems(items);
    if (more === undefined || (kind !== 'iinf' && kind !== 'iref')) return box(kind, content);
    if (kind === 'iref') return box(kind, content, box('cdsc', uint16(more, 1, 1)));
    const info = box('infe', Buffer.from([2, 0, 0, 1]), uint16(more, 0), Buffer.from('Exif\0'));
    return box(kind, content.subarray(0, 4), uint16(items.length), content.subarray(6), info);
  });
  return box('meta', meta.subarray(0, 4), ...boxes, ...(data === undefined ? [] : [box('idat', data)]));
};

/** Such a file of one that has EXIF data. */
export const avifWithExif = (file: Buffer, layout: ExifLayout): Buffer => {
  const [type, header, ...rest] = boxesOf(file);
  if (type === undefined || header === undefined) throw new Error('This is not an AVIF file.');
  const old = itemsOf(
    boxesOf(header.content.subarray(4)).find(({ kind }) => kind === 'iloc')?.content ?? file,
  );
  const number = old.findIndex(({ id }) => id === 2);
  const [start, length] = old[number]?.extents[0] ?? [0, 0];
  const exif = Buffer.from(file.subarray(start, start + length));
  const half = length >> 1;
  const isTwice = layout === 'twice';
  /** With everything behind the header so many bytes further behind. */
  const meta = (moved: number): Buffer => {
    const end = file.length + moved + 8;
    const places: Readonly<Record<ExifLayout, Omit<Item, 'id'>>> = {
      extents: {
        isInHeader: false,
        extents: [
          [end + length - half, half],
          [end, length - half],
        ],
      },
      idat: { isInHeader: true, extents: [[0, length]] },
      twice: { isInHeader: false, extents: [[end, length]] },
    };
    const placed = old.map((item) => ({
      ...item,
      extents: item.extents.map(([at, bytes]): Extent => [at + moved, bytes]),
    }));
    const id = isTwice ? old.length + 1 : 2;
    const items = [...placed.filter((item) => item.id !== id), { id, ...places[layout] }];
    return encodeMeta(header.content, items, isTwice ? id : undefined, layout === 'idat' ? exif : undefined);
  };
  const copy = Buffer.concat([
    box(type.kind, type.content),
    meta(meta(0).length - header.content.length - 8),
  ]);
  const pixels = Buffer.concat(rest.map(({ kind, content }) => box(kind, content)));
  if (!isTwice)
    pixels.fill(0, start - (file.length - pixels.length), start + length - (file.length - pixels.length));
  const data = layout === 'extents' ? [exif.subarray(half), exif.subarray(0, half)] : isTwice ? [exif] : [];
  return Buffer.concat([copy, pixels, box('mdat', ...data)]);
};

/** Such a file with XMP data as an item more, as it is or packed. */
export const avifWithItem = (file: Buffer, data: Buffer, encoding: 'plain' | 'deflate'): Buffer => {
  const [type, header, ...rest] = boxesOf(file);
  if (type === undefined || header === undefined) throw new Error('This is not an AVIF file.');
  const inner = boxesOf(header.content.subarray(4));
  const old = itemsOf(inner.find(({ kind }) => kind === 'iloc')?.content ?? file);
  const id = old.length + 1;
  const kindOfItem = `mime\0application/rdf+xml\0${encoding === 'plain' ? '' : 'deflate\0'}`;
  const info = box('infe', Buffer.from([2, 0, 0, 1]), uint16(id, 0), Buffer.from(kindOfItem));
  const reference = box('cdsc', uint16(id, 1, 1));
  const hasReferences = inner.some(({ kind }) => kind === 'iref');
  const meta = (moved: number): Buffer => {
    const placed = old.map((item) => ({
      ...item,
      extents: item.extents.map(([at, bytes]): Extent => [at + moved, bytes]),
    }));
    const items = [
      ...placed,
      { id, isInHeader: false, extents: [[file.length + moved + 8, data.length]] as const },
    ];
    const boxes = inner.map(({ kind, content }) => {
      if (kind === 'iloc') return encodeItems(items);
      if (kind === 'iinf')
        return box(kind, content.subarray(0, 4), uint16(items.length), content.subarray(6), info);
      return kind === 'iref' ? box(kind, content, reference) : box(kind, content);
    });
    const references = hasReferences ? [] : [box('iref', Buffer.alloc(4), reference)];
    return box('meta', header.content.subarray(0, 4), ...boxes, ...references);
  };
  return Buffer.concat([
    box(type.kind, type.content),
    meta(meta(0).length - header.content.length - 8),
    ...rest.map(({ kind, content }) => box(kind, content)),
    box('mdat', data),
  ]);
};
