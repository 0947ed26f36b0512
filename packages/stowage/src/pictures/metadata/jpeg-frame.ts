/** Reads part of a file; less where it ends. */
export type ReadPart = (start: number, length: number) => Promise<Buffer>;

const MARKER_BYTES = 4;
/** Of each further part, and how many: together more metadata than cameras write. */
const PART_BYTES = 256 * 1024;
const MAX_PARTS = 8;

const isMetadata = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;

const isExif = (segment: Buffer): boolean => segment.toString('latin1', MARKER_BYTES, 8) === 'Exif';

interface Segment {
  readonly marker: number;
  /** Behind its last byte, which may lie behind the end of the part. */
  readonly end: number;
}

/** The segment at `at`; undefined when its head is not in the part, or is none. */
const segmentAt = (part: Buffer, at: number): Segment | undefined =>
  at + MARKER_BYTES > part.length || part[at] !== 0xff
    ? undefined
    : { marker: part[at + 1] ?? 0, end: at + 2 + part.readUInt16BE(at + 2) };

/**
 * The beginning of a JPEG file as it were with nothing but EXIF data before its frame, which says how large
 * the picture is: other metadata, such as previews and colour profiles, may take megabytes. Undefined for
 * other files, and where the frame does not come.
 */
export const withoutLongMetadata = async (beginning: Buffer, read: ReadPart): Promise<Buffer | undefined> => {
  if (beginning.length < MARKER_BYTES || beginning.readUInt16BE(0) !== 0xffd8) return undefined;
  const kept = [beginning.subarray(0, 2)];
  let [part, start, at] = [beginning, 0, 2];
  for (let parts = 0; parts <= MAX_PARTS;) {
    const segment = segmentAt(part, at);
    if (segment !== undefined && !isMetadata(segment.marker))
      return Buffer.concat([...kept, part.subarray(at)]);
    if (segment !== undefined && segment.end <= part.length) {
      const content = part.subarray(at, segment.end);
      if (isExif(content)) kept.push(content);
      at = segment.end;
      continue;
    }
    parts += 1;
    start += at;
    part = await read(start, PART_BYTES);
    at = 0;
    if (segmentAt(part, 0) === undefined) return undefined;
  }
  return undefined;
};
