import { describe, expect, it } from 'vitest';
import { configWarnings } from '#internals';
import { load, source } from './load.ts';

const safe = { extensions: ['png'] };

describe('start-up warnings', () => {
  it('are not given for a careful configuration', () => {
    expect(configWarnings(load({ ...safe, sources: { photos: source() } }))).toEqual([]);
  });

  it('name the sources whose extensions allow pages and scripts, by default or by their own list', () => {
    const config = load({ sources: { a: source(), b: source(safe), c: source({ name: 'docs' }) } });
    expect(configWarnings(config)).toEqual([
      expect.stringMatching(/^sources "a", "docs": the extensions allow html, htm, js, xml\./u),
    ]);
    const own = load({
      sources: {
        a: source({ extensions: ['png', 'js'] }),
        b: source({ extensions: ['xml'] }),
        c: source({ extensions: ['xml'], sanitizeSvg: false }),
      },
    });
    expect(configWarnings(own)).toEqual([
      expect.stringMatching(/^source "a": the extensions allow js\./u),
      expect.stringMatching(/^source "c": the extensions allow xml\./u),
    ]);
    expect(configWarnings(load({ ...safe, sources: { a: source({ extensions: null }) } }))).toEqual([]);
  });

  it('name a default source whose address was not given', () => {
    expect(configWarnings(load(safe))).toEqual([expect.stringMatching(/http:\/\/localhost:8080\/files\//u)]);
    expect(configWarnings(load(safe, { SOURCE_BASEURL: 'https://cdn.example.com/' }))).toEqual([]);
  });

  it('say that public links pass the rules', () => {
    const sources = { a: source({ serve: 'public' }), b: source({ serve: 'protected' }) };
    const config = (accessControl: object[]) => load({ ...safe, sources, accessControl });
    expect(configWarnings(config([{ CHANGE: false, FILES: true }]))).toEqual([]);
    expect(configWarnings(config([{ path: '/x', FILES: false, READ: false }]))).toEqual([
      expect.stringMatching(/^source "a": accessControl denies FILES, READ, but serve "public"/u),
    ]);
  });

  it.each(['protected', 'signed'])('are errors where shared caches may keep %s files', (serve) => {
    const configured = (serveCacheControl: string) =>
      load({ ...safe, signingSecret: 'k'.repeat(32), sources: { a: source({ serve, serveCacheControl }) } });
    for (const wrong of ['public, max-age=60', 'Public', 'max-age=60, s-maxage=60'])
      expect(() => configured(wrong)).toThrow(
        /sources\.a\.serveCacheControl: must not be for shared caches/u,
      );
    configured('private, max-age=60');
  });

  it('say that every origin is accepted', () => {
    const open = { ...safe, allowCrossOrigin: true, sources: {} };
    expect(configWarnings(load(open))).toEqual([expect.stringMatching(/^allowCrossOrigin/u)]);
    expect(configWarnings(load({ ...open, allowedOrigins: [] }))).toEqual([]);
    expect(configWarnings(load(open), [], true)).toEqual([]);
  });

  it('name settings of a source that act before a source is known', () => {
    const changes = {
      accessControl: [{ FILE_REMOVE: false }],
      onlyPOST: null,
      thumbSize: 80,
      defaultRole: 'x',
    };
    const config = load({ ...safe, sources: { a: source(), b: source(changes) } });
    expect(configWarnings(config)).toEqual([
      expect.stringMatching(/^source "b": without effect in a source: accessControl, defaultRole\./u),
    ]);
  });

  it('say that clamd is asked nowhere, though there are settings for it', () => {
    const inspected = (inspection: object) =>
      load({ ...safe, sources: { a: source({ inspection }), b: source() } });
    for (const config of [
      inspected({ maxBytes: '5mb' }),
      load({ ...safe, inspection: {}, sources: { a: source() } }),
    ])
      expect(configWarnings(config)).toEqual([expect.stringMatching(/^inspection\.clamd is not set/u)]);
    expect(configWarnings(inspected({ clamd: 'tcp://127.0.0.1:3310' }))).toEqual([]);
  });

  it('name keys of rules that belong to no action', () => {
    const config = load({
      ...safe,
      sources: {},
      accessControl: [{ role: 'guest', FILE_REMOVE: false, FILE_REMOV: false, X: true }],
    });
    expect(configWarnings(config, ['FILES', 'FILE_REMOVE'])).toEqual([
      'accessControl: no action has the key FILE_REMOV; did you mean "FILE_REMOVE"?',
      'accessControl: no action has the key X.',
    ]);
    expect(configWarnings(config)).toEqual([]);
  });
});
