import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnly, type AccessRule } from 'stowage';
import { SourcePath } from 'stowage/storage';
import {
  AccessDeniedError,
  accessKeyOf,
  compileRules as compileRulesFor,
  createActions,
  ruleKeysOf,
} from '#internals';

const compileRules = (rules: readonly AccessRule[]) => compileRulesFor(rules, ruleKeysOf(createActions()));

const at = (text: string): SourcePath => SourcePath.parse(text);

describe('access rules', () => {
  it('allow what no rule mentions', () => {
    const access = compileRules([{ FILES: false }]).forRole('guest');
    expect(access.allows('FILE_REMOVE', at(''))).toBe(true);
    expect(access.explain('FILE_REMOVE', at(''))).toMatchObject({ allowed: true, rule: undefined });
  });

  it('let the last applying rule decide, in both directions', () => {
    const access = compileRules([{ FILES: false }, { FILES: true }, { role: 'other', FILES: false }]).forRole(
      'guest',
    );
    expect(access.allows('FILES', at('a'))).toBe(true);
    expect(
      compileRules([{ FILES: true }, { FILES: false }])
        .forRole('guest')
        .allows('FILES', at('')),
    ).toBe(false);
  });

  it('apply to a role, to every role without one, and to every role with *', () => {
    const book = compileRules([
      { role: 'guest', FILES: false },
      { role: '*', FOLDERS: false },
      { PERMISSIONS: false },
    ]);
    expect(book.forRole('guest').allows('FILES', at(''))).toBe(false);
    expect(book.forRole('editor').allows('FILES', at(''))).toBe(true);
    expect(book.forRole('editor').allows('FOLDERS', at(''))).toBe(false);
    expect(book.forRole('editor').allows('PERMISSIONS', at(''))).toBe(false);
  });

  it('apply everywhere with * as path', () => {
    const access = compileRules([{ path: '*', FILES: false }]).forRole('guest');
    expect([access.allows('FILES', at('')), access.allows('FILES', at('a/b'))]).toEqual([false, false]);
  });

  // A string prefix would let /private-2 through or lock it; whole segments decide.
  it.each([
    ['/private', false],
    ['/private/', false],
    ['private/x/y.png', false],
    ['./private', false],
    ['/public/../private', false],
    ['//private', false],
    ['/private/.', false],
    ['/private-2', true],
    ['/privat', true],
    ['/public/private', true],
    ['', true],
  ])('compare paths by whole segments: %s', (path, allowed) => {
    const access = compileRules([{ path: '/private', FILES: false }]).forRole('guest');
    expect(access.allows('FILES', at(path))).toBe(allowed);
  });

  it('fold case only where the store does', () => {
    const rules = [{ path: '/Secret', FILES: false }];
    expect(compileRules(rules).forRole('guest').allows('FILES', at('secret/a'))).toBe(true);
    const folding = compileRules(rules).forRole('guest').foldingCase();
    for (const path of ['sECRET/a', 'Secret/a', 'secret', '\u017fecret/a']) {
      expect(folding.allows('FILES', at(path))).toBe(false);
    }
    expect(folding.allows('FILES', at('secrets/a'))).toBe(true);
  });

  it.each([
    ['psd, .AI', 'psd', false],
    ['psd, .AI', 'ai', false],
    ['psd ai', 'jpg', true],
    [['psd', 'ai'], 'ai', false],
    ['*', 'jpg', false],
    ['*', undefined, false],
    ['psd', undefined, true],
  ])('about extensions %j decide about %j', (extensions, extension, allowed) => {
    const access = compileRules([{ extensions, FILE_DOWNLOAD: false }]).forRole('guest');
    expect(access.allows('FILE_DOWNLOAD', at('a'), extension)).toBe(allowed);
  });

  it('throw AccessDeniedError from require, naming the rule for the log only', () => {
    const access = compileRules([{ path: 'a', FILE_REMOVE: false }]).forRole('guest');
    expect(() => {
      access.require('FILE_REMOVE', at('a/b'));
    }).toThrowError(AccessDeniedError);
    try {
      access.require('FILE_REMOVE', at('a/b'));
    } catch (error) {
      expect((error as AccessDeniedError).messages.join()).not.toContain('Rule');
      expect((error as AccessDeniedError).detail).toContain('Rule 0 denies FILE_REMOVE');
    }
  });

  it.each([
    ['a denial without conditions', [{ FILE_UPLOAD: false }], '', false],
    ['an exception for a folder below', [{ FILE_UPLOAD: false }, { path: 'a', FILE_UPLOAD: true }], '', true],
    [
      'an exception for another folder',
      [{ FILE_UPLOAD: false }, { path: 'a', FILE_UPLOAD: true }],
      'b',
      false,
    ],
    [
      'an exception for an extension',
      [{ FILE_UPLOAD: false }, { extensions: 'png', FILE_UPLOAD: true }],
      '',
      true,
    ],
    ['a denial of one folder, seen from above', [{ path: 'a', FILE_UPLOAD: false }], '', true],
    ['a denial of one folder, seen from inside', [{ path: 'a', FILE_UPLOAD: false }], 'a/b', false],
    ['an exception before the denial', [{ path: 'a', FILE_UPLOAD: true }, { FILE_UPLOAD: false }], '', false],
  ])('tell whether anything in a folder may be allowed: %s', (_case, rules, folder, expected) => {
    expect(compileRules(rules).forRole('x').mayAllow('FILE_UPLOAD', at(folder))).toBe(expected);
  });

  it('refuse nothing early that a store without letter case may allow', () => {
    const access = compileRules([{ FILES: false }, { path: '/Public', FILES: true }]).forRole('x');
    expect(access.mayAllow('FILES', at('public'))).toBe(true);
    expect(access.allows('FILES', at('public'))).toBe(false);
    expect(access.foldingCase().allows('FILES', at('public'))).toBe(true);
  });

  it.each([
    ['nothing here', '', false],
    ['one level below, where no file has the path', 'x', false],
    ['one level below, where the path may be a file of the folder', 'z', true],
    ['the folder itself', 'x/y', true],
    ['below the folder', 'x/y/z', true],
    ['another folder', 'w', false],
  ])('tell whether an item of a folder may be allowed: %s', (_case, folder, expected) => {
    const rules = [
      { FILE_REMOVE: false },
      { path: 'x/y', FILE_REMOVE: true },
      { path: 'z/a.txt', FILE_REMOVE: true },
    ];
    expect(compileRules(rules).forRole('a').mayAllowIn('FILE_REMOVE', at(folder))).toBe(expected);
  });

  it('agree with their own explanation for every question', () => {
    const rule = fc.record(
      {
        role: fc.constantFrom('*', 'a', 'b'),
        path: fc.constantFrom('/', '/x', '/x/y', 'z'),
        extensions: fc.constantFrom('*', 'png', 'png,jpg'),
        FILES: fc.boolean(),
        FOLDERS: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 6 }),
        fc.constantFrom('a', 'b', 'c'),
        fc.constantFrom('', 'x', 'x/y', 'x/y/z', 'xy', 'z/q'),
        fc.constantFrom(undefined, 'png', 'gif'),
        (rules, role, path, extension) => {
          const access = compileRules(rules).forRole(role);
          for (const key of ['FILES', 'FOLDERS']) {
            const decision = access.explain(key, at(path), extension);
            expect(access.allows(key, at(path), extension)).toBe(decision.allowed);
            if (decision.allowed) expect(access.mayAllow(key, at(path))).toBe(true);
            if (decision.allowed && key === 'FILES') expect(access.mayAllowIn(key, at(path))).toBe(true);
            if (!access.mayAllow(key, at(''))) expect(decision.allowed).toBe(false);
            if (decision.rule !== undefined)
              expect(rules[decision.rule]?.[key as 'FILES']).toBe(decision.allowed);
          }
        },
      ),
    );
  });
});

describe('keys that stand for several', () => {
  const keys = ruleKeysOf(createActions());
  const all = [...keys.keys()].filter((key) => !['CHANGE', 'READ', 'PERMISSIONS'].includes(key));
  const deniedBy = (...rules: AccessRule[]): string[] => {
    const access = compileRules(rules).forRole('guest');
    return all.filter((key) => !access.allows(key, at('a')));
  };

  it('are CHANGE for every action that changes something, and READ for all others but PERMISSIONS', () => {
    const changing = [...createActions().values()].filter(({ changes }) => changes);
    expect(new Set(deniedBy(...readOnly))).toEqual(new Set(changing.map(({ name }) => accessKeyOf(name))));
    expect(deniedBy({ READ: false })).toEqual(
      all.filter((key) => !deniedBy({ CHANGE: false }).includes(key)),
    );
    expect(deniedBy({ READ: false })).toEqual(
      expect.arrayContaining(['TRASH_LIST', 'GENERATE_PDF', 'GENERATE_DOCX', 'FOLDER_TREE']),
    );
    expect(
      compileRules([{ READ: false, CHANGE: false }])
        .forRole('a')
        .allows('PERMISSIONS', at('')),
    ).toBe(true);
  });

  it.each<[what: string, rules: AccessRule[], key: string, allowed: boolean]>([
    ['its own key in the same rule', [{ CHANGE: false, FILE_COPY: true }], 'FILE_COPY', true],
    ['its own key in a later rule', [{ CHANGE: false }, { FILE_COPY: true }], 'FILE_COPY', true],
    ['a later group', [{ FILE_COPY: true }, { CHANGE: false }], 'FILE_COPY', false],
    ['a later group of another path', [{ CHANGE: false }, { path: 'b', CHANGE: true }], 'FILE_COPY', false],
    ['IMAGE_RESIZE', [{ IMAGE_RESIZE: false }], 'IMAGE_ROTATE', false],
    ['IMAGE_RESIZE beside CHANGE', [{ CHANGE: true, IMAGE_RESIZE: false }], 'IMAGE_ROTATE', false],
    ['IMAGE_RESIZE beside CHANGE', [{ CHANGE: false, IMAGE_RESIZE: true }], 'IMAGE_ROTATE', true],
    ['IMAGE_RESIZE after CHANGE', [{ CHANGE: true }, { IMAGE_RESIZE: false }], 'IMAGE_ROTATE', false],
    ['CHANGE after IMAGE_RESIZE', [{ IMAGE_RESIZE: true }, { CHANGE: false }], 'IMAGE_ROTATE', false],
    ['its own key', [{ IMAGE_RESIZE: false, IMAGE_ROTATE: true }], 'IMAGE_ROTATE', true],
    ['its own key', [{ IMAGE_ROTATE: false }, { IMAGE_RESIZE: true }], 'IMAGE_ROTATE', false],
    [
      'IMAGE_RESIZE where its own key is about other paths',
      [{ path: 'b', IMAGE_ROTATE: false }, { IMAGE_RESIZE: false }],
      'IMAGE_ROTATE',
      false,
    ],
    [
      'IMAGE_RESIZE of a later rule where its own key is about other paths',
      [{ CHANGE: false }, { IMAGE_RESIZE: true }, { path: 'b', IMAGE_ROTATE: false }],
      'IMAGE_ROTATE',
      true,
    ],
  ])('give way to %s: %j', (_what, rules, key, allowed) => {
    const access = compileRules(rules).forRole('guest');
    expect(access.allows(key, at('a'))).toBe(allowed);
    if (allowed) expect(access.mayAllow(key, at('a'))).toBe(true);
  });

  /** Every kind of item that rules of these paths and extensions can tell apart. */
  const universe = ['', 'a', 'a/b', 'a/B', 'a/b/x', 'a/x', 'a/x.png', 'A', 'A/b', 'c'].flatMap((path) =>
    [undefined, 'png', 'pdf'].map((extension) => ({ path: at(path), extension })),
  );

  it('allow a folder something exactly where they allow an item of it', () => {
    const rule = fc.record(
      {
        path: fc.constantFrom('a', 'a/b', 'A', 'a/x.png', 'c'),
        extensions: fc.constantFrom('png', 'pdf'),
        IMAGE_ROTATE: fc.boolean(),
        IMAGE_RESIZE: fc.boolean(),
        CHANGE: fc.boolean(),
        FILES: fc.boolean(),
        READ: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 5 }),
        fc.constantFrom('IMAGE_ROTATE', 'FILES', 'FILE_REMOVE'),
        fc.constantFrom('', 'a', 'a/b', 'a/x', 'c'),
        (rules, key, text) => {
          const access = compileRules(rules).forRole('guest');
          const folder = at(text);
          const below = universe.filter(({ path }) => folder.contains(path));
          const isAny = [access, access.foldingCase()].some((one) =>
            below.some(({ path, extension }) => one.allows(key, path, extension)),
          );
          expect(access.mayAllow(key, folder)).toBe(isAny);
          // Files have an extension: a rule about a/b is about a folder.
          const isFile = (path: SourcePath, extension: string | undefined): boolean =>
            path.equals(folder) ||
            (path.parent.equals(folder) && path.name === 'x.png' && extension === 'png');
          expect(access.mayAllowIn(key, folder)).toBe(
            below.some(
              ({ path, extension }) => isFile(path, extension) && access.allows(key, path, extension),
            ),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('say whether parts of a folder can differ', () => {
    const access = compileRules([
      { CHANGE: false },
      { path: 'a/b', CHANGE: true },
      { path: 'c', extensions: 'png', FILES: false },
    ]).forRole('guest');
    expect(
      ['', 'a', 'a/b', 'a/b/c', 'c'].map((path) => access.dependsOnItem('FILE_REMOVE', at(path))),
    ).toEqual([true, true, false, false, false]);
    expect(['', 'a', 'c', 'c/d'].map((path) => access.dependsOnItem('FILES', at(path)))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  it('say whether a role may list anything below a folder', () => {
    const access = compileRules([
      { path: 'hr', READ: false },
      { path: 'hr/open', FOLDERS: true },
      { path: 'hr/some', extensions: 'png', FILES: true },
    ]).forRole('guest');
    expect(['', 'hr', 'hr/open/x', 'hr/some', 'hr/other'].map((path) => access.mayList(at(path)))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
