import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { Random } from '../model/random.ts';
import { startService, type Service } from '../protocol/service.ts';
import { declaredParameters, type Schema } from '../security/requests.ts';

const REQUESTS = 400;

const texts: readonly string[] = [
  ...['', ' ', '.', '..', '/', '//', '%', '%2e%2e', '../../etc/passwd', 'C:\\windows', 'a\0b', 'a\r\nb: c'],
  ...['0', '-1', '1.5', 'NaN', '1e309', '99999999999999999999', 'true', 'null', '{}', '[]', '2026-02-30'],
  ...['__proto__', 'constructor', 'toString', '.stowage-trash', '_thumbs', 'CON', '\u202egnp.exe', '\ud800'],
  ...[
    'a'.repeat(1025),
    '🦄'.repeat(100),
    'http://127.0.0.1:1/',
    'http://[',
    'file:///etc/passwd',
    '<script>',
  ],
];

const values: readonly unknown[] = [
  ...[0, -1, 1.5, 1e308, true, null, [], {}, [[]], [null], { a: { b: {} } }, ['a.png', 'a.png']],
  ...[Array.from({ length: 1001 }, String), JSON.parse('{"__proto__":{"x":1}}'), { w: [], h: {}, x: 'x' }],
];

const NAMES = ['a.png', 'b.png', 'words.txt', 'folder', 'new'];
const FOLDERS = ['', 'folder', 'nowhere'];
const known: Readonly<Record<string, (random: Random) => unknown>> = {
  source: () => 'files',
  fromSource: () => 'files',
  path: (random) => random.pick(FOLDERS),
  names: (random) => [random.pick(NAMES), random.pick(NAMES)],
  from: (random) => random.pick(NAMES),
  froms: (random) => [random.pick(NAMES), `folder/${random.pick(NAMES)}`],
  box: (random) => ({ w: 1 + random.below(9), h: 1 + random.below(9), x: 0, y: 0 }),
  preset: () => 'card',
  html: () => '<p>words</p>',
};

const valueFor = (random: Random, name: string, schema: Schema): unknown => {
  if (random.chance(0.2)) return random.pick(random.chance(0.6) ? texts : values);
  const make = known[name];
  if (make !== undefined) return make(random);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.type === 'boolean') return random.chance(0.5);
  if (schema.type === 'integer' || schema.type === 'number') return random.below(100);
  if (schema.type !== 'object') return random.pick(NAMES);
  const members = Object.entries(schema.properties ?? {}).filter(() => random.chance(0.5));
  return Object.fromEntries(members.map(([key, member]) => [key, valueFor(random, key, member)]));
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Names and values as forms and queries have them. */
const pairsOf = (parameters: Readonly<Record<string, unknown>>): string[][] =>
  Object.entries(parameters).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([key, inner]) => [`${name}[${key}]`, textOf(inner)])
      : [[name, textOf(value)]],
  );

const formOf = (pairs: readonly string[][], file: Blob | undefined): FormData => {
  const form = new FormData();
  for (const [name = '', value = ''] of pairs) form.append(name, value);
  if (file !== undefined) form.append('files[0]', file, 'new.png');
  return form;
};

const takesFiles = ({ properties = {} }: Schema): boolean => 'files[0]' in properties;

const requestOf = (random: Random, url: string, schema: Schema, picture: Blob): Request => {
  const { properties = {}, required = [] } = schema;
  const given = Object.entries(properties).filter(
    ([name, { contentMediaType }]) =>
      // Editors have answers of their own.
      name !== 'responseType' &&
      contentMediaType === undefined &&
      random.chance(required.includes(name) ? 0.95 : 0.4),
  );
  const parameters = Object.fromEntries(given.map(([name, one]) => [name, valueFor(random, name, one)]));
  if (random.chance(0.1)) parameters[random.pick(texts)] = random.pick(texts);
  const pairs = pairsOf(parameters);
  if (takesFiles(schema)) return new Request(url, { method: 'POST', body: formOf(pairs, picture) });
  const query = new URLSearchParams(pairs);
  const json = { 'content-type': 'application/json' };
  return random.pick([
    () => new Request(`${url}?${String(query)}`),
    () => new Request(url, { method: 'POST', body: query }),
    () => new Request(url, { method: 'POST', body: formOf(pairs, undefined) }),
    () => new Request(url, { method: 'POST', body: JSON.stringify(parameters), headers: json }),
  ])();
};

const plant = async (service: Service, picture: Buffer): Promise<void> => {
  const files = service.source('files');
  await files.put({ 'a.png': picture, 'b.png': picture, 'words.txt': 'words', 'folder/a.png': picture });
};

it('answers whatever is asked as it is described, without errors of its own', async () => {
  const service = await startService(
    { trash: {}, imagePresets: { card: { width: 10 } } },
    { findUses: () => [] },
  );
  const file = new URL('../../packages/stowage/openapi.json', import.meta.url);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ ...(JSON.parse(await readFile(file, 'utf8')) as object), $id: 'https://openapi.example/' });
  const background = { width: 20, height: 10, channels: 3, background: 'teal' } as const;
  const picture = await sharp({ create: background }).png().toBuffer();
  const blob = new Blob([new Uint8Array(picture)]);
  // Without a browser it answers 501.
  const actions = [...(await declaredParameters())].filter(([name]) => name !== 'generatePdf');
  const random = new Random(1);
  for (let number = 0; number < REQUESTS; number += 1) {
    if (number % 50 === 0) await plant(service, picture);
    const [action, schema] = random.pick(actions);
    const request = requestOf(random, `${service.url}/${action}`, schema, blob);
    const response = await fetch(request);
    const text = await response.text();
    const told = `${String(number)}: ${request.method} ${action} ${String(response.status)} ${text.slice(0, 500)}`;
    expect(response.status, told).toBeLessThan(500);
    expect(text.includes(service.outside.root), told).toBe(false);
    if (response.headers.has('content-disposition')) continue;
    const described = `/paths/~1${action}/post/responses/200/content/application~1json/schema`;
    const where = response.ok ? described : '/components/schemas/Error';
    const validate = ajv.getSchema(`https://openapi.example/#${where}`);
    expect([validate?.(JSON.parse(text)), validate?.errors], told).toEqual([true, null]);
  }
});
