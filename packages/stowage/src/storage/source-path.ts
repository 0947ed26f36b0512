import { UnsafeNameError, UnsafePathError } from '../errors/errors.ts';

const MAX_SEGMENT_BYTES = 255;
// Normalization takes quadratic time for a run of combining marks. No spelling of 255 bytes in NFC has more
// UTF-16 units, nor more marks in a row: a mark has two bytes or more, and at most three of them combine with
// their letter.
const MAX_SEGMENT_UNITS = 383;
const MAX_MARKS = 130;
const MAX_PATH_BYTES = 2048;
const MAX_SEGMENTS = 100;

/** Maximum length of a path before normalization, in UTF-16 units. */
export const MOST_PATH_UNITS = 2 * MAX_PATH_BYTES;

// C0, DEL, C1 controls, and characters that reorder displayed text and so disguise a name.
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\]/u;
/** Most names: in NFC, and without a problem. Only for speed. */
const PLAIN = /^[ -[\]-~]{1,255}$/u;
const LONE_SURROGATE = /\p{Surrogate}/u;

const TOO_LONG = 'is longer than 255 bytes';

const segmentProblem = (segment: string): string | undefined => {
  if (PLAIN.test(segment)) return undefined;
  if (segment.length > MAX_SEGMENT_BYTES) return TOO_LONG;
  if (FORBIDDEN.test(segment) || LONE_SURROGATE.test(segment)) return 'holds characters that are not allowed';
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) return TOO_LONG;
  // Full-width and other look-alikes, which a lower layer could fold into `..`.
  if (/[^\u0000-\u007f]/u.test(segment) && segment.normalize('NFKC').split(/[\\/]/u).includes('..')) {
    return 'holds characters that are not allowed';
  }
  return undefined;
};

/** Whether a name can be one segment of a path. Entries with other names are hidden and inaccessible. */
export const isSegment = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !name.includes('/') && segmentProblem(name) === undefined;

/** The text in NFC; undefined when it is too long for a segment in any form. */
const normalized = (text: string): string | undefined => {
  if (PLAIN.test(text)) return text;
  return text.length > MAX_SEGMENT_UNITS || text.split(/\P{M}+/u).some((marks) => marks.length > MAX_MARKS)
    ? undefined
    : text.normalize('NFC');
};

/** A name in NFC when it can be one segment of a path; else undefined. Accepts any text. */
export const segmentOf = (name: string): string | undefined => {
  const segment = normalized(name);
  return segment !== undefined && isSegment(segment) ? segment : undefined;
};

/**
 * A path inside a source. It cannot leave the source's root: it is created only by parsing, contains no `.`
 * or `..`, no backslash, no control or bidirectional character, and is in NFC. Text from clients is bounded
 * in length and depth; paths found by walks are not, since a store may hold deeper trees than requests can
 * name.
 */
export class SourcePath {
  static readonly root = new SourcePath([]);

  readonly segments: readonly string[];

  private constructor(segments: readonly string[]) {
    this.segments = segments;
  }

  /**
   * Parses a path in any spelling that clients use: ``, `/`, `/.`, `/sub`, `sub/`, `sub/deep/../`.
   * @throws UnsafePathError when it leaves the root or contains forbidden characters or segments.
   */
  static parse(text: string): SourcePath {
    if (text.length > MOST_PATH_UNITS) throw new UnsafePathError('The path is too long.');
    const segments: string[] = [];
    for (const raw of text.split('/')) {
      if (raw === '' || raw === '.') continue;
      if (raw === '..') {
        if (segments.pop() === undefined) throw new UnsafePathError('The path leaves the source.');
        continue;
      }
      const segment = normalized(raw);
      const problem = segment === undefined ? TOO_LONG : segmentProblem(segment);
      if (segment === undefined || problem !== undefined) throw new UnsafePathError(`The path ${problem}.`);
      segments.push(segment);
    }
    return SourcePath.#bounded(segments);
  }

  static #bounded(segments: readonly string[]): SourcePath {
    if (segments.length > MAX_SEGMENTS) throw new UnsafePathError('The path is too deep.');
    if (Buffer.byteLength(segments.join('/')) > MAX_PATH_BYTES)
      throw new UnsafePathError('The path is too long.');
    return segments.length === 0 ? SourcePath.root : new SourcePath(segments);
  }

  /**
   * The path of an entry of this folder, by a name from a client.
   * @throws UnsafeNameError when the name is not exactly one segment; UnsafePathError when the path would be
   * too long or too deep
   */
  child(name: string): SourcePath {
    return this.below(name).requireBounded();
  }

  /**
   * The path of an entry of this folder, by a name from the store, at any depth.
   * @throws UnsafeNameError when the name is not exactly one segment
   */
  below(name: string): SourcePath {
    const segment = segmentOf(name);
    if (segment === undefined) throw new UnsafeNameError();
    return new SourcePath([...this.segments, segment]);
  }

  /** This path followed by the segments of the other, without limits. */
  join(other: SourcePath): SourcePath {
    return other.isRoot ? this : new SourcePath([...this.segments, ...other.segments]);
  }

  /** This path, if requests can name it. @throws UnsafePathError */
  requireBounded(): SourcePath {
    return SourcePath.#bounded(this.segments);
  }

  /** Whether requests can name every path with up to this many more segments, and bytes with slashes. */
  hasRoomFor(more: { readonly segments: number; readonly bytes: number }): boolean {
    return (
      this.segments.length + more.segments <= MAX_SEGMENTS &&
      Buffer.byteLength(this.toString()) + more.bytes <= MAX_PATH_BYTES
    );
  }

  get isRoot(): boolean {
    return this.segments.length === 0;
  }

  /** The last segment; empty for the root. */
  get name(): string {
    return this.segments.at(-1) ?? '';
  }

  /** The parent folder; the root's parent is the root. */
  get parent(): SourcePath {
    return this.segments.length < 2 ? SourcePath.root : new SourcePath(this.segments.slice(0, -1));
  }

  /** The parent folders from the top, without the root, followed by the path itself. */
  ancestry(): readonly SourcePath[] {
    return this.isRoot ? [] : [...this.parent.ancestry(), this];
  }

  /** True for the path itself and all paths below it, compared by whole segments. */
  contains(other: SourcePath): boolean {
    return (
      this.segments.length <= other.segments.length &&
      this.segments.every((segment, index) => segment === other.segments[index])
    );
  }

  equals(other: SourcePath): boolean {
    return this.segments.length === other.segments.length && this.contains(other);
  }

  /** The other path relative to this folder. Only for paths that this one contains. */
  relative(other: SourcePath): SourcePath {
    if (!this.contains(other)) throw new UnsafePathError();
    return other.segments.length === this.segments.length
      ? SourcePath.root
      : new SourcePath(other.segments.slice(this.segments.length));
  }

  /** Segments joined with `/`, without a leading or trailing slash; empty for the root. */
  toString(): string {
    return this.segments.join('/');
  }
}
