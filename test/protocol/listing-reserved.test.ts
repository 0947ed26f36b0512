import { describe, expect, it } from 'vitest';
import { NotFoundError, SourcePath, UnsafeNameError } from 'stowage/storage';
import { isReservedName, requireFreeName, requireReachable } from '#internals';

const settings = {
  excludeDirectoryNames: ['.tmb', 'a+b (c)', 'Straße'],
  createThumb: true,
  thumbFolderName: '_thumbs',
  imagePresets: {},
};

describe('reserved names', () => {
  it.each([
    '_thumbs',
    '_THUMBS',
    '_Thumbs',
    '_thumb\u017f',
    '.tmb',
    '.TMB',
    'a+b (c)',
    'STRAẞE',
    'Strasse'.replace('ss', 'ß'),
    '.stowage-trash',
    '.Stowage-About',
    '.stowage-trash.old',
    '.stowage-about (conflicted copy 2026-11-26)',
    '._cat.jpg',
    '.ds_store',
    'THUMBS.DB',
    'Desktop.ini',
  ])('reserves %s', (name) => {
    expect(isReservedName(settings, name)).toBe(true);
  });

  it.each([
    '_thumbs2',
    'x_thumbs',
    '_thumb',
    'tmb',
    'xtmb',
    'aab (c)',
    '',
    '_thumbs\n',
    'thumbs',
    '.stowage',
    'stowage-a',
    'a.stowage-a',
    '.cat.jpg',
    'my desktop.ini',
    'Thumbs.db.txt',
  ])('does not reserve %j', (name) => {
    expect(isReservedName(settings, name)).toBe(false);
  });

  it('knows a name in either form of Unicode', () => {
    const accented = { ...settings, excludeDirectoryNames: ['cach\u00e9'] };
    expect(isReservedName(accented, 'cache\u0301')).toBe(true);
    expect(isReservedName({ ...settings, excludeDirectoryNames: ['cache\u0301'] }, 'CACH\u00c9')).toBe(true);
  });

  it('frees the thumbnail folder when thumbnails are off', () => {
    expect(isReservedName({ ...settings, createThumb: false }, '_thumbs')).toBe(false);
    expect(isReservedName({ ...settings, createThumb: false }, '.tmb')).toBe(true);
    expect(isReservedName({ ...settings, createThumb: false, excludeDirectoryNames: [] }, '')).toBe(false);
  });

  it('hides every path that passes through one', () => {
    for (const path of ['_thumbs', '_thumbs/a.png', 'a/_Thumbs/b', 'a/b/.TMB']) {
      expect(() => requireReachable(settings, SourcePath.parse(path)), path).toThrow(NotFoundError);
    }
    for (const path of ['', 'a', 'a/thumbs', 'a/_thumbs2/b']) {
      expect(() => requireReachable(settings, SourcePath.parse(path)), path).not.toThrow();
    }
  });

  it('gives no such name to anything new', () => {
    expect(() => requireFreeName(settings, '_THUMBS')).toThrow(UnsafeNameError);
    expect(() => requireFreeName(settings, 'thumbs')).not.toThrow();
  });
});
