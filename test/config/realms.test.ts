import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { load, problemsOf, source } from './load.ts';

const written = {
  quality: null,
  pdf: { isRemoteEnabled: false },
  accessControl: [{ role: 'guest', FILE_REMOVE: false }],
  sources: { photos: source({ thumbSize: 80, storageAdapter: 's3', s3: { bucket: 'b', prefix: null } }) },
};

/** As a test runner or a worker makes it: objects and lists whose classes are not those of this realm. */
const foreign = (value: unknown): unknown =>
  runInNewContext(`JSON.parse(${JSON.stringify(JSON.stringify(value))})`);

describe('a configuration of another realm', () => {
  it('is accepted and frozen like one of this realm', () => {
    const config = load(foreign(written));
    expect(JSON.stringify(config)).toBe(JSON.stringify(load(written)));
    expect(Object.isFrozen(config.sources[0]?.adapterOptions)).toBe(true);
    expect(JSON.stringify(load(structuredClone(written)))).toBe(JSON.stringify(load(written)));
    expect(load(Object.assign(Object.create(null), { quality: 7 })).settings.quality).toBe(7);
  });

  it('is refused for the same problems', () => {
    const wrong = { ...written, pdf: { isRemoteEnable: true }, colour: 'red' };
    expect(problemsOf(foreign(wrong))).toEqual(problemsOf(wrong));
    expect(problemsOf(wrong)).toHaveLength(2);
  });

  it.each(['new Date()', 'new Map()', '[]', 'new (class { quality = 5 })()', '() => 5'])(
    'is refused when it is not an object of settings: %s',
    (code) => {
      expect(problemsOf(runInNewContext(code))).toEqual([
        expect.stringMatching(/^configuration: must be an object, not /u),
      ]);
    },
  );
});
