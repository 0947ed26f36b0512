/**
 * A GIF of many frames, each of which draws one pixel of a large canvas: a few bytes a frame, gigapixels when
 * decoded as a whole.
 */
export const longGif = (frames: number, width: number, height: number): Buffer => {
  const header = Buffer.alloc(13 + 6);
  header.write('GIF89a', 'latin1');
  header.writeUInt16LE(width, 6);
  header.writeUInt16LE(height, 8);
  header.writeUInt8(0x80, 10);
  header.set([200, 40, 40, 255, 255, 255], 13);
  const frame = Buffer.from([
    ...[0x21, 0xf9, 4, 0, 5, 0, 0, 0],
    // A picture of 1x1 at the upper left; LZW: clear, index 0, end.
    ...[0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0],
    ...[2, 2, 0x44, 0x01, 0],
  ]);
  return Buffer.concat([header, ...Array.from({ length: frames }, () => frame), Buffer.from([0x3b])]);
};
