import fc from 'fast-check';
import sanitizeFilename from 'sanitize-filename';
import { describe, expect, it } from 'vitest';
import { isSegment } from 'stowage/storage';
import {
  extensionOf,
  hasAllowedExtension,
  isServerConfigName,
  sanitizeName,
  splitExtension,
  withExtension,
  withFileSuffix,
  withFolderSuffix,
  withSingleExtension,
} from '#internals';

const bytes = (text: string): number => Buffer.byteLength(text);

/** Text that is mostly made of what names trip over. */
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...'/\\?<>:*|"#%;. ab_-éא中😀\u0000\u001f\u007f\u0085\u00a0\u200b\u200d\u202e\u2066\ufeff．／＼‥．\ud800\udc00e\u0301',
      ),
      fc.constantFrom(
        '..',
        'con',
        'NUL',
        'com1',
        '.php',
        '.jpg',
        '．．',
        '\u{1f468}\u200d\u{1f469}',
        'x'.repeat(120),
        '中'.repeat(60),
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('sanitizeName', () => {
  it.each([
    ['photo.jpg', 'photo.jpg'],
    ['My holiday photo.jpg', 'My holiday photo.jpg'],
    ['תמונה.png', 'תמונה.png'],
    ['写真 2.png', '写真 2.png'],
    ['😀.png', '😀.png'],
    ['a/b.png', 'a_b.png'],
    ['../../etc/passwd', '.._.._etc_passwd'],
    ['C:\\x\\a.png', 'C__x_a.png'],
    ['a?b<c>d:e*f|g"h.png', 'a_b_c_d_e_f_g_h.png'],
    ['50% #1; best.png', '50_ _1_ best.png'],
    ['a\u0000b\nc\u007fd\u0085e.png', 'a_b_c_d_e.png'],
    ['.', '_'],
    ['..', '_'],
    ['....', '_'],
    ['e\u0301.png', 'é.png'],
    ['a\u200bb\u200dc\u2060d\ufeff.png', 'abcd.png'],
    ['\ud83d.png', '_.png'],
    ['caf\ufffd.png', 'caf_.png'],
    ['a\uffffb\ufffec\ufdd0d\u{1ffff}e.png', 'a_b_c_d_e.png'],
    ['\u200b', ''],
    ['', ''],
  ])('makes %j into %j', (given, expected) => {
    expect(sanitizeName(given)).toBe(expected);
  });

  it.each(['con', 'AUX.png', 'nul.txt', 'COM1', 'LPT9.jpg', 'prn.', 'com¹.txt'])(
    'never gives the Windows device %j as a name',
    (name) => {
      expect(sanitizeName(name)).toBe('_');
    },
  );

  /** @see https://nvd.nist.gov/vuln/detail/CVE-2021-43421 */
  it.each(['x.php:aaa', 'x.php::$DATA', 'x.jpg:evil', 'shell.php;.jpg'])(
    'takes streams and lists apart: %j',
    (name) => {
      expect(sanitizeName(name)).not.toMatch(/[:;]/u);
    },
  );

  it('shows what a name with a hidden change of direction really is', () => {
    expect(sanitizeName('photo\u202egpj.exe')).toBe('photogpj.exe');
    expect(extensionOf(sanitizeName('photo\u202egpj.exe'))).toBe('exe');
  });

  /** @see https://nvd.nist.gov/vuln/detail/CVE-2022-27115 */
  it.each(['x.php.', 'x.php..', 'x.php ', 'x.php. .', 'x.php\u00a0', 'x.php%20', 'x.jpg.', 'x.jpg '])(
    'makes no allowed name of %j',
    (name) => {
      expect(hasAllowedExtension(sanitizeName(name), ['jpg', 'png'])).toBe(false);
    },
  );

  it('leaves no way upwards for layers that fold full-width characters', () => {
    for (const name of ['．．', '．．／x', '‥', 'a／‥／b', '․․']) {
      expect(isSegment(sanitizeName(name)), name).toBe(true);
    }
  });

  it('leaves no way upwards where only the cut has made one', () => {
    const name = sanitizeName(`${'x'.repeat(246)}／．．/`);
    expect(name.normalize('NFKC').split('/')).not.toContain('..');
    expect(sanitizeName(name)).toBe(name);
  });

  it('cuts long names to 255 bytes at a character and keeps the extension', () => {
    expect(sanitizeName(`${'a'.repeat(400)}.jpeg`)).toBe(`${'a'.repeat(250)}.jpeg`);
    const wide = sanitizeName(`${'中'.repeat(200)}.png`);
    expect(wide).toBe(`${'中'.repeat(83)}.png`);
    const emoji = sanitizeName(`${'😀'.repeat(100)}.webp`);
    expect(emoji).toBe(`${'😀'.repeat(62)}.webp`);
    expect(bytes(sanitizeName(`a.${'b'.repeat(400)}`))).toBe(255);
  });

  it('finds a Windows device also where only the cut has made one', () => {
    expect(sanitizeName(`nulls.${'x'.repeat(251)}`)).toBe('_');
  });

  it('gives for any text nothing, or one short harmless segment that stays as it is', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const name = sanitizeName(text);
        if (name === '') return;
        expect(isSegment(name)).toBe(true);
        expect(name.normalize('NFC')).toBe(name);
        expect(name).not.toMatch(/[/\\?<>:*|"#%;]|[\s.]$/u);
        expect(sanitizeName(name)).toBe(name);
      }),
      { numRuns: 3000 },
    );
  });

  it('agrees with sanitize-filename wherever both have a rule', () => {
    const common = fc
      .array(
        fc.oneof(
          fc.constantFrom(
            '/',
            '?',
            '<',
            '>',
            '\\',
            ':',
            '*',
            '|',
            '"',
            '\u0000',
            '\u001f',
            '\u0080',
            '.',
            ' ',
            'a',
            'B',
            '9',
            '-',
            '_',
            'é',
            '中',
          ),
          fc.constantFrom('con', 'nul', 'COM1', 'lpt9', '..', '.jpg', '. '),
        ),
        { maxLength: 14 },
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(common, (text) => {
        expect(sanitizeName(text)).toBe(sanitizeFilename(text, { replacement: '_' }));
      }),
      { numRuns: 3000 },
    );
  });

  it('takes long runs of blanks and dots in its stride', () => {
    expect(sanitizeName(`a${' .'.repeat(50_000)}b`).length).toBeLessThanOrEqual(255);
    expect(sanitizeName(`a${' '.repeat(100_000)}`)).toBe('a_');
  });
});

describe('extensions', () => {
  it.each([
    ['a.jpg', 'jpg'],
    ['A.JPG', 'jpg'],
    ['a.tar.gz', 'gz'],
    ['a.php.jpg', 'jpg'],
    ['a.php.', 'php'],
    ['a.php. ', 'php'],
    ['a.php\u00a0', 'php'],
    ['a', undefined],
    ['a.', undefined],
    ['.php', undefined],
    ['.htaccess', undefined],
    ['...', undefined],
    ['', undefined],
    ['.hidden.png', 'png'],
  ])('of %j is %j', (name, expected) => {
    expect(extensionOf(name)).toBe(expected);
  });

  it('are allowed exactly, whatever their case', () => {
    const allowed = ['jpg', 'html'];
    expect(hasAllowedExtension('a.Html', allowed)).toBe(true);
    for (const name of ['a.html@', 'a.htm', 'a.phtml', 'a.jpg2', 'a.php5', 'example', '.jpg', 'example.']) {
      expect(hasAllowedExtension(name, allowed), name).toBe(false);
    }
  });

  it('split at the last dot', () => {
    expect(splitExtension('a.b.C')).toEqual({ stem: 'a.b', extension: 'C' });
    expect(splitExtension('.php')).toEqual({ stem: '.php', extension: '' });
  });
});

describe('names made of other names', () => {
  it('put numbers before the extension', () => {
    expect(withFileSuffix('name.ext', '-1')).toBe('name-1.ext');
    expect(withFileSuffix('archive.tar.gz', ' (2)')).toBe('archive.tar (2).gz');
    expect(withFolderSuffix('v1.2', ' (1)')).toBe('v1.2 (1)');
  });

  it('never pass 255 bytes', () => {
    const long = `${'é'.repeat(125)}.jpeg`;
    expect(bytes(long)).toBe(255);
    const numbered = withFileSuffix(long, '-12');
    expect(numbered).toBe(`${'é'.repeat(123)}-12.jpeg`);
    expect(bytes(numbered)).toBeLessThanOrEqual(255);
    expect(bytes(withFolderSuffix('x'.repeat(255), ' (10)'))).toBe(255);
  });

  it('keep the extension of the original', () => {
    expect(withExtension('b', 'jpg')).toBe('b.jpg');
    expect(withExtension('b.php', 'jpg')).toBe('b.php.jpg');
    expect(withExtension('b.JPG', 'jpg')).toBe('b.JPG');
    expect(withExtension('b.jpg', 'JPG')).toBe('b.jpg');
    expect(withExtension('photo.v2', 'png')).toBe('photo.v2.png');
  });

  it('lose all but their last extension', () => {
    for (const [name, single] of [
      ['a.php.jpg', 'a_php.jpg'],
      ['a.php.txt.JPG', 'a_php_txt.JPG'],
      ['a.jpg', 'a.jpg'],
      ['a', 'a'],
      ['a..jpg', 'a_.jpg'],
      ['.a.b.jpg', '.a_b.jpg'],
      ['.htaccess', '.htaccess'],
    ] as const) {
      expect(withSingleExtension(name)).toBe(single);
    }
  });

  it('know files that steer web servers', () => {
    for (const name of [
      '.htaccess',
      '.htpasswd',
      '.user.ini',
      'web.config',
      'Web.Config',
      '.htaccess.txt',
      'php.ini',
    ]) {
      expect(isServerConfigName(name), name).toBe(true);
    }
    for (const name of ['htaccess.txt', 'my.web.config.txt', 'a.ini', 'a.png']) {
      expect(isServerConfigName(name), name).toBe(false);
    }
  });
});
