/** Pixels as 8 bit RGBA, from the top. */
export interface Rgba {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** A picture whose every pixel tells where it is: red grows to the right, green downwards. */
export const gradient = (width: number, height: number): Rgba => {
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      data.set(
        [
          Math.round((x * 255) / Math.max(1, width - 1)),
          Math.round((y * 255) / Math.max(1, height - 1)),
          60,
          255,
        ],
        (y * width + x) * 4,
      );
    }
  }
  return { width, height, data };
};

/** A picture of `colours` flat colours, in diagonal stripes. */
export const stripes = (
  width: number,
  height: number,
  colours: number,
): { readonly picture: Rgba; readonly indexes: readonly number[]; readonly palette: readonly number[][] } => {
  const palette = Array.from({ length: colours }, (_, index) => [
    (index * 67) % 256,
    (index * 151 + 40) % 256,
    (index * 29 + 90) % 256,
  ]);
  const indexes = Array.from(
    { length: width * height },
    (_, at) => ((at % width) + Math.floor(at / width) * 2) % colours,
  );
  const data = new Uint8Array(indexes.flatMap((index) => [...(palette[index] ?? []), 255]));
  return { picture: { width, height, data }, indexes, palette };
};

const paddedRow = (bits: number, width: number): number => Math.ceil((bits * width) / 32) * 4;

/** What a bitmap file is made of. */
export interface BitmapParts {
  readonly width: number;
  /** Negative: rows from the top. */
  readonly height: number;
  readonly bits: number;
  readonly pixels: Buffer;
  readonly compression?: number;
  readonly palette?: readonly number[][];
  readonly masks?: readonly number[];
  /** Bytes of nothing between header and pixels, which the header's offset skips. */
  readonly gap?: number;
  /** 12 (OS/2), 40, or 108 (masks inside of the header). */
  readonly headerSize?: 12 | 40 | 108;
}

const dibHeader = (parts: BitmapParts): Buffer => {
  const { width, height, bits, headerSize = 40 } = parts;
  const header = Buffer.alloc(headerSize);
  header.writeUInt32LE(headerSize, 0);
  if (headerSize === 12) {
    header.writeUInt16LE(width, 4);
    header.writeUInt16LE(height, 6);
    header.writeUInt16LE(1, 8);
    header.writeUInt16LE(bits, 10);
    return header;
  }
  header.writeInt32LE(width, 4);
  header.writeInt32LE(height, 8);
  header.writeUInt16LE(1, 12);
  header.writeUInt16LE(bits, 14);
  header.writeUInt32LE(parts.compression ?? 0, 16);
  header.writeUInt32LE(parts.pixels.length, 20);
  header.writeUInt32LE(parts.palette?.length ?? 0, 32);
  if (headerSize === 108) parts.masks?.forEach((mask, index) => header.writeUInt32LE(mask, 40 + index * 4));
  return header;
};

/** Header, masks and palette of a bitmap, as they stand in `.bmp` and `.ico` files. */
export const dib = (parts: BitmapParts): Buffer => {
  const masks = Buffer.alloc(parts.headerSize === 108 ? 0 : (parts.masks?.length ?? 0) * 4);
  if (masks.length > 0) parts.masks?.forEach((mask, index) => masks.writeUInt32LE(mask, index * 4));
  const palette = Buffer.from(
    (parts.palette ?? []).flatMap(([red = 0, green = 0, blue = 0]) =>
      parts.headerSize === 12 ? [blue, green, red] : [blue, green, red, 0],
    ),
  );
  return Buffer.concat([dibHeader(parts), masks, palette]);
};

/** A `.bmp` file. */
export const bmpFile = (parts: BitmapParts): Buffer => {
  const head = dib(parts);
  const gap = Buffer.alloc(parts.gap ?? 0, 0xee);
  const file = Buffer.alloc(14);
  file.write('BM', 'latin1');
  file.writeUInt32LE(14 + head.length + gap.length + parts.pixels.length, 2);
  file.writeUInt32LE(14 + head.length + gap.length, 10);
  return Buffer.concat([file, head, gap, parts.pixels]);
};

/** Rows of packed palette indexes, from the bottom. */
export const packIndexes = (indexes: readonly number[], width: number, bits: number): Buffer => {
  const height = indexes.length / width;
  const stride = paddedRow(bits, width);
  const pixels = Buffer.alloc(stride * height);
  indexes.forEach((index, at) => {
    const x = at % width;
    const row = (height - 1 - Math.floor(at / width)) * stride;
    const byte = row + Math.floor((x * bits) / 8);
    pixels[byte] = (pixels[byte] ?? 0) | (index << (8 - bits - ((x * bits) % 8)));
  });
  return pixels;
};

/** Rows of true colour pixels; `topDown`: from the top. */
export const packColours = (
  { width, height, data }: Rgba,
  bits: 16 | 24 | 32,
  { topDown = false, alpha = 255, five65 = false } = {},
): Buffer => {
  const stride = paddedRow(bits, width);
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [red = 0, green = 0, blue = 0] = data.subarray((y * width + x) * 4);
      const at = (topDown ? y : height - 1 - y) * stride + (x * bits) / 8;
      if (bits === 16) {
        const packed = five65
          ? ((red >> 3) << 11) | ((green >> 2) << 5) | (blue >> 3)
          : ((red >> 3) << 10) | ((green >> 3) << 5) | (blue >> 3);
        pixels.writeUInt16LE(packed, at);
      } else {
        pixels.set(bits === 24 ? [blue, green, red] : [blue, green, red, alpha], at);
      }
    }
  }
  return pixels;
};

/**
 * Run-length encodes indexes row by row from the bottom: runs, literals, and a skip over what has index 0 at
 * the start of a row.
 */
export const packRuns = (indexes: readonly number[], width: number, bits: 4 | 8): Buffer => {
  const bytes: number[] = [];
  const height = indexes.length / width;
  for (let y = height - 1; y >= 0; y -= 1) {
    const row = indexes.slice(y * width, (y + 1) * width);
    let x = row.findIndex((index) => index !== 0);
    if (x < 0) x = width;
    if (x > 0) bytes.push(0, 2, x, 0);
    const literal = row.slice(x, x + 5);
    if (literal.length >= 3) {
      bytes.push(0, literal.length);
      const packed =
        bits === 8
          ? literal
          : [0, 2, 4]
              .filter((at) => at < literal.length)
              .map((at) => ((literal[at] ?? 0) << 4) | (literal[at + 1] ?? 0));
      bytes.push(...packed, ...(packed.length % 2 === 1 ? [0] : []));
      x += literal.length;
    }
    for (; x < width; x += 1) {
      const index = row[x] ?? 0;
      bytes.push(1, bits === 8 ? index : index << 4);
    }
    bytes.push(0, 0);
  }
  bytes.push(0, 1);
  return Buffer.from(bytes);
};

/** One picture of an icon file: a PNG file, or a bitmap with its mask. */
export interface IconPart {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
}

/** A bitmap for an icon file: `transparent` tells which pixels its mask hides. */
export const iconBitmap = (
  parts: BitmapParts,
  transparent: (x: number, y: number) => boolean = () => false,
): IconPart => {
  const { width, height } = parts;
  const mask = packIndexes(
    Array.from({ length: width * height }, (_, at) =>
      transparent(at % width, Math.floor(at / width)) ? 1 : 0,
    ),
    width,
    1,
  );
  return { width, height, data: Buffer.concat([dib({ ...parts, height: height * 2 }), parts.pixels, mask]) };
};

/** An `.ico` file. */
export const icoFile = (pictures: readonly IconPart[]): Buffer => {
  const directory = Buffer.alloc(6 + pictures.length * 16);
  directory.writeUInt16LE(1, 2);
  directory.writeUInt16LE(pictures.length, 4);
  let offset = directory.length;
  pictures.forEach(({ width, height, data }, index) => {
    const at = 6 + index * 16;
    directory.writeUInt8(width % 256, at);
    directory.writeUInt8(height % 256, at + 1);
    directory.writeUInt32LE(data.length, at + 8);
    directory.writeUInt32LE(offset, at + 12);
    offset += data.length;
  });
  return Buffer.concat([directory, ...pictures.map(({ data }) => data)]);
};
