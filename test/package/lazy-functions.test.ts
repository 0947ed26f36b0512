import { expect, it } from 'vitest';

const path = '../../scripts/lazy-functions.mjs';
const { withLazyFunctions } = (await import(path)) as { withLazyFunctions: (code: string) => string };

const load = (code: string): Promise<Record<string, unknown>> =>
  import(`data:text/javascript,${encodeURIComponent(code)}`) as Promise<Record<string, unknown>>;

const cases = {
  'the value of an expression':
    'export const value = ((a, { b = 2 } = {}, ...rest) => [a, b, rest])(1, {}, 3);',
  'an object': 'const make = () => ({ made: true });\nexport const value = make();',
  'a promise':
    'const later = async (a) => (await a) + 1;\nexport const value = await later(Promise.resolve(1));',
  'the name': 'const named = () => 0;\nexport const value = [named.name, { key: () => 0 }.key.name];',
  'functions inside of functions':
    'const add = (a) => (b) => { return a + b; };\nexport const value = add(1)(2);',
  'what is of the surroundings': 'export const value = (() => typeof this)();',
  'a class': 'class A { static make = () => this.name; }\nexport const value = A.make();',
  'a comment and a line break': 'const f = (a) => /* why */\n  // that\n  a;\nexport const value = f(4);',
};

it.each(Object.entries(cases))(
  'functions that are read when they are called keep %s',
  async (_name, code) => {
    expect((await load(withLazyFunctions(code)))['value']).toEqual((await load(code))['value']);
  },
);

it('only functions that use the surroundings stay arrow functions', () => {
  expect(
    withLazyFunctions('const a = async (b) => b, c = { d: () => { e((f) => f); } }, g = () => this;'),
  ).toBe(
    'const a = async function (b) { return b; }, c = { d: function () { e((f) => f); } }, g = () => this;',
  );
});
