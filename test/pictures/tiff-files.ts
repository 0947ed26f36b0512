/** A page of a TIFF file, its samples without compression and zero. */
export interface TiffPage {
  readonly width: number;
  readonly height: number;
  /** 2: RGB, 8: Lab. */
  readonly photometric?: number;
  /** Of one sample: 8, 16, or 32 for floating-point numbers. */
  readonly bits?: 8 | 16 | 32;
  readonly orientation?: number;
}

const SAMPLES = 3;
const ENTRY_BYTES = 12;

const entriesOf = (
  { width, height, photometric = 2, bits = 8, orientation = 1 }: TiffPage,
  [bitsAt, pixelsAt, pixels]: readonly [number, number, number],
): readonly (readonly [tag: number, type: number, count: number, value: number])[] => [
  [256, 4, 1, width],
  [257, 4, 1, height],
  [258, 3, SAMPLES, bitsAt],
  [259, 3, 1, 1],
  [262, 3, 1, photometric],
  [273, 4, 1, pixelsAt],
  [274, 3, 1, orientation],
  [277, 3, 1, SAMPLES],
  [278, 4, 1, height],
  [279, 4, 1, pixels],
  [339, 3, 1, bits === 32 ? 3 : 1],
];

/** A TIFF file of these pages, one directory behind the other. */
export const tiffFile = (...pages: readonly TiffPage[]): Buffer => {
  const parts: Buffer[] = [Buffer.from('II*\0\x08\0\0\0', 'latin1')];
  let at = 8;
  for (const [index, page] of pages.entries()) {
    const pixels = page.width * page.height * SAMPLES * ((page.bits ?? 8) / 8);
    const count = entriesOf(page, [0, 0, 0]).length;
    const bitsAt = at + 2 + count * ENTRY_BYTES + 4;
    const pixelsAt = bitsAt + SAMPLES * 2;
    const directory = Buffer.alloc(pixelsAt - at + pixels + (pixels % 2));
    directory.writeUInt16LE(count);
    for (const [row, [tag, type, length, value]] of entriesOf(page, [bitsAt, pixelsAt, pixels]).entries()) {
      const start = 2 + row * ENTRY_BYTES;
      directory.writeUInt16LE(tag, start);
      directory.writeUInt16LE(type, start + 2);
      directory.writeUInt32LE(length, start + 4);
      directory.writeUInt32LE(value, start + 8);
    }
    for (let sample = 0; sample < SAMPLES; sample += 1)
      directory.writeUInt16LE(page.bits ?? 8, bitsAt - at + sample * 2);
    at += directory.length;
    if (index < pages.length - 1) directory.writeUInt32LE(at, 2 + count * ENTRY_BYTES);
    parts.push(directory);
  }
  return Buffer.concat(parts);
};
