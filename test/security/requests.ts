/** Requests for every action, made of what it declares. */
import { readFile } from 'node:fs/promises';

type Value = string | readonly string[] | { readonly [name: string]: string };
export type Parameters = Readonly<Record<string, Value>>;

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly contentMediaType?: string;
}

/** What the values depend on. */
export interface About {
  /** Of what lies in the trash. */
  readonly ids: readonly string[];
  /** A site that serves a file under any name. */
  readonly site: string;
  /** The public address of the source. */
  readonly baseurl: string;
}

/**
 * What a parameter of this name may be about, in the tree of `stage.ts`. Those of other names get a value by their
 * type.
 */
const namedValues = (
  name: string,
  declared: Schema,
  { ids, site, baseurl }: About,
): readonly Value[] | undefined => {
  const properties = Object.keys(declared.properties ?? {});
  const chosen = (all: Readonly<Record<string, string>>): Value =>
    Object.fromEntries(Object.entries(all).filter(([key]) => properties.includes(key)));
  const values: Readonly<Record<string, readonly Value[]>> = {
    source: ['files'],
    fromSource: ['far'],
    name: ['kestrel.png', 'plover.txt', 'eyrie', 'fresh'],
    names: [['kestrel.png', 'plover.txt'], ['eyrie']],
    newname: ['renamed'],
    from: ['loft/kestrel.png', 'loft/eyrie'],
    froms: [['loft/kestrel.png', 'loft/plover.txt'], ['loft/eyrie']],
    id: ids,
    url: [`${site}/remote.txt`, `${baseurl}loft/kestrel.png`],
    html: ['<p>words</p>'],
    preset: ['card'],
    query: ['e'],
    mods: [chosen({ details: 'true', withFolders: 'true', variants: 'true' })],
    box: [chosen({ w: '5', h: '5', x: '0', y: '0' })],
    modifiedAfter: ['2000-01-01'],
    modifiedBefore: ['2999-01-01'],
    focalPoint: [chosen({ x: '0.5', y: '0.5' })],
    offset: ['0'],
    minBytes: ['0'],
  };
  return values[name];
};

/** A text that a schema takes. */
const textFor = ({ enum: values, type, minimum = 0 }: Schema): string => {
  if (values !== undefined) return String(values[0]);
  if (type === 'boolean') return 'true';
  return type === 'integer' || type === 'number' ? String(Math.max(minimum, 100)) : 'words';
};

/** Values that a schema takes. */
const byType = (schema: Schema): readonly Value[] => {
  if (schema.type === 'array') return [['words']];
  if (schema.type !== 'object') return schema.enum?.map(String) ?? [textFor(schema)];
  const { properties = {}, required = Object.keys(properties).slice(0, 1) } = schema;
  return [Object.fromEntries(required.map((key) => [key, textFor(properties[key] ?? {})]))];
};

/** The declared parameters of each action: what the description of the interface says. */
export const declaredParameters = async (): Promise<ReadonlyMap<string, Schema>> => {
  const file = new URL('../../packages/stowage/openapi.json', import.meta.url);
  const { components } = JSON.parse(await readFile(file, 'utf8')) as {
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const named = Object.entries(components.schemas).flatMap(([title, schema]): [string, Schema][] =>
    title.endsWith('Parameters')
      ? [[title.charAt(0).toLowerCase() + title.slice(1).replace(/Parameters$/u, ''), schema]]
      : [],
  );
  return new Map(named);
};

/** Parameters that only an answer can give. */
const NEVER_SENT: Readonly<Record<string, string>> = {
  cursor: 'what an answer gave; the search that goes on is the same',
};

/** Where an action works: what comes from elsewhere goes to another folder. */
const foldersFor = (names: readonly string[]): readonly (string | undefined)[] => {
  if (!names.includes('path')) return [undefined];
  if (names.includes('id')) return [undefined, 'barn'];
  return names.includes('from') ? ['barn'] : ['loft'];
};

const product = (lists: readonly (readonly Parameters[])[]): readonly Parameters[] =>
  lists.reduce<readonly Parameters[]>(
    (all, list) => all.flatMap((one) => list.map((more) => ({ ...one, ...more }))),
    [{}],
  );

/** Each value that a parameter may have. */
export const valuesFor = (schema: Schema, about: About, name: string): readonly Parameters[] => {
  const declared = schema.properties?.[name] ?? {};
  return (namedValues(name, declared, about) ?? byType(declared)).map((value) => ({ [name]: value }));
};

/** The parameters that a request says in words: not the files that it sends, nor what only an answer can give. */
export const sayableParameters = ({ properties = {} }: Schema): readonly string[] =>
  Object.keys(properties).filter(
    (name) => properties[name]?.contentMediaType === undefined && !(name in NEVER_SENT),
  );

/**
 * Requests for an action: with all that it requires, in every combination, and with each of its other parameters beside
 * that. Not all of them mean something; which do, shows when they are sent with all rights.
 */
export const requestsFor = (schema: Schema, about: About): readonly Parameters[] => {
  const { required = [] } = schema;
  const names = sayableParameters(schema);
  const each = (name: string): readonly Parameters[] => valuesFor(schema, about, name);
  const folders = foldersFor(names).map((path): Parameters => (path === undefined ? {} : { path }));
  const bases = product([folders, ...names.filter((name) => required.includes(name)).map(each)]);
  const others = names.filter((name) => !['path', 'source', ...required].includes(name));
  return bases.flatMap((base) => [
    base,
    ...others.flatMap((name) => each(name).map((one) => ({ ...base, ...one }))),
  ]);
};
