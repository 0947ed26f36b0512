import sharp from 'sharp';
import { crc32 } from './crc32.ts';
import { quarters } from './pictures.ts';

const chunk = (kind: string, ...numbers: readonly number[]): Buffer => {
  const body = Buffer.alloc(4 + 4 * numbers.length, kind, 'latin1');
  for (const [index, number] of numbers.entries()) body.writeUInt32BE(number, 4 + 4 * index);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(4 * numbers.length);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
};

/** A PNG that says to have so many frames, as the header of an animation does. */
export const animatedPng = async (frames: number): Promise<Buffer> => {
  const png = await quarters().png().toBuffer();
  const headerEnd = 33;
  return Buffer.concat([png.subarray(0, headerEnd), chunk('acTL', frames, 0), png.subarray(headerEnd)]);
};

/** Two pages in one TIFF file. */
export const pagedTiff = async (): Promise<Buffer> => {
  const page = await quarters().png().toBuffer();
  return sharp([page, page], { join: { animated: true } })
    .tiff()
    .toBuffer();
};

/** Two pictures of 40x30 in one AVIF file, as ImageMagick writes them. */
export const pagedAvif = Buffer.from(
  [
    'AAAAKGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZmF2aWZtaWYxbWlhZgAAAVttZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAA',
    'AAAAAAAAAAAAAAAAAA5waXRtAAAAAAABAAAANGlsb2MAAAAAREAAAgABAAAAAAGLAAEAAAAAAAAAIAACAAAAAAGrAAEAAAAAAAAA',
    'HwAAADhpaW5mAAAAAAACAAAAFWluZmUCAAAAAAEAAGF2MDEAAAAAFWluZmUCAAAAAAIAAGF2MDEAAAAAtGlwcnAAAACOaXBjbwAA',
    'ABNjb2xybmNseAACAAIABoAAAAAMYXYxQ4EADAAAAAAUaXNwZQAAAAAAAAAoAAAAHgAAABBwaXhpAAAAAAMICAgAAAATY29scm5j',
    'bHgAAgACAAaAAAAADGF2MUOBAAwAAAAAFGlzcGUAAAAAAAAAKAAAAB4AAAAQcGl4aQAAAAADCAgIAAAAHmlwbWEAAAAAAAAAAgAB',
    'BIGCA4QAAgSFhgeIAAAAR21kYXQSAAoGGBUn6wIQMhQYAAooooQAs1clhzu3AJGVngQRgBIACgYYFSfrAhAyExgACiiihACzVyVl',
    '0t4QznYt1AI=',
  ].join(''),
  'base64',
);

/**
 * The four quarters in 512x256, as two tiles that are not marked as hidden: one picture, for browsers as for
 * Photoshop, of which the tiles look like two more.
 */
export const tiledAvif = Buffer.from(
  [
    'AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAAF/bWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAA',
    'AGxpYmF2aWYAAAAADnBpdG0AAAAAAAMAAAA6aWxvYwAAAABEAAADAAMAAAABAAABpwAAAAgAAgAAAAEAAAGvAAAARQABAAAAAQAA',
    'AfQAAABFAAAAXGlpbmYAAAAAAAMAAAAaaW5mZQIAAAAAAwAAZ3JpZENvbG9yAAAAABppbmZlAgAAAAACAABhdjAxQ29sb3IAAAAA',
    'GmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAAAcaXJlZgAAAAAAAAAQZGltZwADAAIAAgABAAAAi2lwcnAAAABfaXBjbwAAABRpc3Bl',
    'AAAAAAAAAgAAAAEAAAAAEHBpeGkAAAAAAwgICAAAABNjb2xybmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAAEAAAABAAAAAAxhdjFD',
    'gSAAAAAAACRpcG1hAAAAAAAAAAMAAwMBAgMAAgQEAoUDAAEEBAKFAwAAAJptZGF0AAAAAQIAAQASAAoJOB3//9hAQ0GkMjYQ8ADD',
    'DDEAtFVVcKLBntY4xE0+OWwub8ccf3Okd9Ac7LToIBA/lYX95LYPAU/MXL14ff3hChcSAAoJOB3//9hAQ0GkMjYQ8ADDDDEAtFVd',
    'cX0qOwEV7XQj40PBFiq8WCXtqH/mpQHP5vNr0g18rPplSyksU91u76jq90A=',
  ].join(''),
  'base64',
);
