import sharp from 'sharp';

/**
 * What a file holds says which write stored it, so that a lost, torn or misplaced one is recognised. An item
 * keeps its number in its name, whatever it is renamed to: `t7.txt`, `t7-r3.txt`, `t7 (1).txt`.
 */
export interface Written {
  /** `t7`: the item that the content belongs to. */
  readonly item: string;
  /** Counts the writes of one item. */
  readonly version: number;
}

const LENGTHS = [0, 60, 3_000, 90_000, 300_000];

/** Bytes from the beginning: strings of this length cost the runs more than the service did. */
const wholeOf = (written: Written, length: number): Uint8Array<ArrayBuffer> => {
  const [item, version] = [written.item, String(written.version)];
  const head = Buffer.from(`${item}|${version}|${String(length)}|`);
  const whole = new Uint8Array(head.length + length);
  whole.set(head);
  Buffer.from(whole.buffer).fill(`${item}.${version} `, head.length);
  return whole;
};

/** Text that tells its own length: what is cut or mixed does not read back. */
export const textOf = (written: Written, pick: number): Uint8Array<ArrayBuffer> =>
  wholeOf(written, LENGTHS[pick % LENGTHS.length] ?? 0);

/** Longer than any head. */
const HEAD_BYTES = 60;

const readText = (bytes: Buffer): Written | undefined => {
  const [item, version, length] = bytes.toString('utf8', 0, HEAD_BYTES).split('|', 3);
  if (item === undefined || version === undefined || !LENGTHS.includes(Number(length))) return undefined;
  const written = { item, version: Number(version) };
  return bytes.equals(wholeOf(written, Number(length))) ? written : undefined;
};

/**
 * A picture of one colour, which edits keep: red and green hold the item, blue the version. Versions differ in
 * their size: SFTP tells those of one second and one size not apart.
 */
export const pictureOf = async ({ item, version }: Written): Promise<Uint8Array<ArrayBuffer>> => {
  const number = Number(item.slice(1));
  const background = { r: number >> 8, g: number & 255, b: version & 255 };
  const png = await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .withExif({ IFD0: { Software: 'v'.repeat(8 * version) } })
    .png()
    .toBuffer();
  return new Uint8Array(png);
};

const readPicture = async (bytes: Buffer): Promise<Written | undefined> => {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const [r = 0, g = 0, b = 0] = data;
  for (let at = 0; at < data.length; at += info.channels) {
    if (data[at] !== r || data[at + 1] !== g || data[at + 2] !== b) return undefined;
  }
  return { item: `p${String((r << 8) | g)}`, version: b };
};

/** Which write the content comes from; undefined when it is that of none, or not whole. */
export const readContent = async (name: string, bytes: Buffer): Promise<Written | undefined> =>
  name.endsWith('.png') ? readPicture(bytes).catch(() => undefined) : readText(bytes);

/** The item or folder that a name belongs to; undefined for names that no run gives. */
export const itemOf = (name: string): string | undefined => /^[tpfd]\d+(?=\D|$)/u.exec(name)?.[0];
