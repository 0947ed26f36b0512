import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SourcePath, StowageError, UnsafeNameError, isSegment } from 'stowage/storage';
import { UnsafePathError } from '#internals';

/** Pieces from which hostile paths are made, beside anything that text can hold. */
const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '..',
      '.',
      '',
      '/',
      '//',
      '\\',
      '%2e%2e',
      '%2f',
      '%252e',
      '%00',
      '\u0000',
      '..\\',
      '．．',
      '‥',
      '／',
      '\uff3c',
    ],
    ...[
      'a',
      'b',
      'sub',
      'caf\u00e9',
      'cafe\u0301',
      '\u202e',
      '\u200d',
      '\ud800',
      '~',
      'C:',
      '...',
      '. .',
      '..;',
      '.. ',
      '\u2024\u2024',
    ],
  ),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const hostilePath = fc
  .array(piece, { maxLength: 12 })
  .chain((pieces) => fc.constantFrom('', '/', '\\').map((glue) => pieces.join(glue)));

/** Parses; undefined when it is refused, which only our errors may do. */
const parse = (text: string): SourcePath | undefined => {
  try {
    return SourcePath.parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(StowageError);
    expect((error as StowageError).status).toBe(400);
    return undefined;
  }
};

/** @see CVE-2022-26960, CVE-2023-35840, CVE-2018-15535, CVE-2026-30914: layers that normalise differently */
describe('a parsed path, whatever the text', () => {
  it('has only segments that are single, harmless names', () => {
    fc.assert(
      fc.property(hostilePath, (text) => {
        const path = parse(text);
        for (const segment of path?.segments ?? []) {
          expect(['', '.', '..']).not.toContain(segment);
          expect(segment).not.toMatch(
            /[/\\\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/u,
          );
          expect(segment).not.toMatch(/\p{Surrogate}/u);
          expect(segment.normalize('NFC')).toBe(segment);
          expect(segment.normalize('NFKC').split(/[/\\]/u)).not.toContain('..');
          expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(255);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('is parsed from its own text to itself: a second layer cannot see another path', () => {
    fc.assert(
      fc.property(hostilePath, (text) => {
        const path = parse(text);
        if (path === undefined) return;
        expect(SourcePath.parse(path.toString()).segments).toEqual(path.segments);
        expect(SourcePath.parse(`/${path.toString()}/.`).equals(path)).toBe(true);
        expect(SourcePath.parse(`//${path.toString()}//`).equals(path)).toBe(true);
        expect(SourcePath.parse(`${path.toString()}/x/../`).equals(path)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('never decodes: percent signs are characters of a name', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('%2e%2e', '%2f', '%5c', '%00', '%252e%252e%252f', '..%2f..%2fx', '..%5cx'),
        (name) => {
          expect(SourcePath.parse(name).segments).toEqual([name]);
        },
      ),
    );
  });

  it('goes up only where it has gone down, and never above the root', () => {
    const step = fc.constantFrom('..', '.', 'a', 'b', 'c', '');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let depth = 0;
        let left = false;
        for (const one of steps) {
          if (one === '..') depth -= 1;
          else if (one !== '.' && one !== '') depth += 1;
          if (depth < 0) left = true;
          depth = Math.max(depth, 0);
        }
        const path = parse(steps.join('/'));
        expect(path === undefined).toBe(left);
        if (path !== undefined) expect(path.segments).toHaveLength(depth);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the same for composed and decomposed spellings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), (name) => {
        const [one, other] = [parse(name.normalize('NFC')), parse(name.normalize('NFD'))];
        expect(one?.toString()).toBe(other?.toString());
      }),
      { numRuns: 1000 },
    );
  });
});

describe('joining and comparing paths', () => {
  const cleanPath = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'a b', 'private', 'private-2', 'é', '文'), { maxLength: 6 })
    .map((segments) => SourcePath.parse(segments.join('/')));

  it('a child lies in its folder, and its parent is the folder', () => {
    fc.assert(
      fc.property(cleanPath, fc.string({ unit: 'binary', maxLength: 20 }), (folder, name) => {
        if (!isSegment(name.normalize('NFC'))) {
          expect(() => folder.child(name)).toThrow(UnsafeNameError);
          return;
        }
        const child = folder.child(name);
        expect(folder.contains(child)).toBe(true);
        expect(child.contains(folder)).toBe(false);
        expect(child.parent.equals(folder)).toBe(true);
        expect(child.name).toBe(name.normalize('NFC'));
      }),
      { numRuns: 2000 },
    );
  });

  it('containing is by whole segments, never by the beginning of a name', () => {
    fc.assert(
      fc.property(cleanPath, cleanPath, (one, other) => {
        const expected = `${other.toString()}/`.startsWith(one.isRoot ? '' : `${one.toString()}/`);
        expect(one.contains(other)).toBe(expected);
        expect(one.equals(other)).toBe(one.toString() === other.toString());
        if (expected) expect(one.join(one.relative(other)).equals(other)).toBe(true);
        else expect(() => one.relative(other)).toThrow(UnsafePathError);
      }),
      { numRuns: 2000 },
    );
  });
});

/** @see CVE-2018-15535, CVE-2019-5884 and the row P18: limits are refusals, not failures */
describe('spellings that clients use, and those that they must not', () => {
  it.each(['', '/', '/.', './', '//', 'sub/..', 'sub/deep/../..', '/./.'])('"%s" is the root', (text) => {
    expect(SourcePath.parse(text).isRoot).toBe(true);
    expect(SourcePath.parse(text).equals(SourcePath.root)).toBe(true);
  });

  it.each(['/sub', 'sub/', 'sub/deep/../', './sub', '//sub//', 'sub/.', 'x/../sub'])(
    '"%s" is sub',
    (text) => {
      expect(SourcePath.parse(text).toString()).toBe('sub');
    },
  );

  it.each([
    ...[
      '..',
      '/..',
      '../',
      'a/../..',
      'a/../../a',
      '../../../../etc/passwd',
      '/srv/files//..//..//..//etc/passwd',
    ],
    ...[
      'a\\b',
      '..\\..\\x',
      'a/..\\..',
      'a\u0000b',
      'folder/\u0000',
      'a\nb',
      'a\u007f',
      'a\u0085',
      'gpj\u202e.exe',
      'a\u2066b',
    ],
    ...['a/\ud800', '\udc00b', '．．', '．．/x', 'x/．．', '‥', '．．／etc'],
    ...[
      'x'.repeat(256),
      '文'.repeat(86),
      `${'x'.repeat(200)}/`.repeat(11),
      'a/'.repeat(101),
      'x'.repeat(5000),
      '/'.repeat(5000),
    ],
  ])('%j is refused', (text) => {
    expect(() => SourcePath.parse(text)).toThrow(UnsafePathError);
  });

  it.each([
    'x'.repeat(255),
    '文'.repeat(85),
    'a/'.repeat(100),
    `${'x'.repeat(200)}/`.repeat(10),
    '...',
    '. .',
    '..a',
    'a..',
    ' ',
    '~',
    'C:',
  ])('%j is a path', (text) => {
    expect(SourcePath.parse(text).toString()).toBe(text.replace(/\/$/u, ''));
  });

  it.each(['', '.', '..', 'a/b', '/', '/a', 'a/', '\\', 'a\\b', '\u0000', 'x'.repeat(256), '．．', '\ud800'])(
    '%j is no name of an entry',
    (name) => {
      expect(() => SourcePath.root.child(name)).toThrow(UnsafeNameError);
      expect(isSegment(name)).toBe(false);
    },
  );

  it('a path grown too long or too deep by names is refused as well', () => {
    const deep = SourcePath.parse('a/'.repeat(100));
    expect(() => deep.child('b')).toThrow(UnsafePathError);
    expect(() => deep.join(deep).requireBounded()).toThrow(UnsafePathError);
    const long = SourcePath.parse(Array.from({ length: 10 }, () => 'x'.repeat(200)).join('/'));
    expect(() => long.child('y'.repeat(200))).toThrow(UnsafePathError);
  });
});
