import { BodyTooLargeError, InvalidParametersError } from '../errors/errors.ts';

/** A value as parameters arrive: text from queries and forms, anything JSON knows from JSON bodies. */
export type RawValue =
  string | number | boolean | null | readonly RawValue[] | { readonly [key: string]: RawValue };

/** All parameters of a request after precedence, by their top-level name. Has no prototype. */
export type RawParameters = Readonly<Record<string, RawValue | undefined>>;

type RawDraft = Record<string, RawValue | undefined>;

/** Deepest nesting of a JSON body below its top. */
const MAX_DEPTH = 32;
/** Most values of a JSON body, at all its levels. */
const MAX_NODES = 10_000;
/** Most parameters of a query or a body. */
const MAX_PARAMETERS = 1000;

/** An empty set of parameters, without a prototype. */
export const noParameters = (): RawDraft => Object.create(null) as RawDraft;

/** Whether a key could reach a prototype somewhere. Such keys are dropped wherever they are. */
const isPrototypeKey = (key: string): boolean => key === 'prototype' || key in Object.prototype;

/** Whether a raw value has keys of its own (and is not a list). */
const isRawObject = (value: RawValue | undefined): value is { readonly [key: string]: RawValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// The protocol has one level of brackets: `path`, `mods[limit]`, `files[0]`, `files[]`.
const NAME = /^([^[]+)(?:\[([^[\]]*)\])?$/u;

/** Parameters while they arrive, one name and value after the other: `name`, `name[key]`, `name[]`. */
export class ParameterDraft {
  readonly #values = noParameters();
  #count = 0;

  /** Parameters that were read before, to which nothing is added. */
  static of(parameters: RawParameters): ParameterDraft {
    const draft = new ParameterDraft();
    Object.assign(draft.#values, parameters);
    return draft;
  }

  /**
   * A name that comes again makes a list; a list grows by its next index only. Names that reach a prototype
   * are dropped.
   * @throws InvalidParametersError for names of more than one level and names that contradict one another;
   *   BodyTooLargeError for more than 1,000 parameters
   */
  add(name: string, value: RawValue): void {
    this.#count += 1;
    if (this.#count > MAX_PARAMETERS) throw new BodyTooLargeError('The request has too many parameters.');
    const [, top = '', key] = NAME.exec(name) ?? [];
    if (top === '') {
      if (name === '' || !name.includes('[')) return;
      throw new InvalidParametersError('Parameters nest by one level only, as in "mods[limit]".');
    }
    if (isPrototypeKey(top) || (key !== undefined && isPrototypeKey(key))) return;
    const old = this.#values[top];
    if (key === undefined) this.#values[top] = old === undefined ? value : [...listOf(old), value];
    else if (/^\d*$/u.test(key)) this.#append(top, key, value);
    else this.#set(top, key, value);
  }

  /** A parameter that has arrived as plain text, once. */
  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  all(): RawParameters {
    return this.#values;
  }

  #append(top: string, index: string, value: RawValue): void {
    const list = this.#values[top] === undefined ? [] : listOf(this.#values[top]);
    if (index !== '' && Number(index) !== list.length) {
      throw new InvalidParametersError('The items of a list must be numbered from 0, without gaps.');
    }
    this.#values[top] = [...list, value];
  }

  #set(top: string, key: string, value: RawValue): void {
    const members: RawValue = this.#values[top] ?? {};
    if (!isRawObject(members)) throw contradiction();
    const old = members[key];
    this.#values[top] = Object.assign(noParameters(), members, {
      [key]: old === undefined ? value : [...listOf(old), value],
    } as Record<string, RawValue>);
  }
}

const contradiction = (): InvalidParametersError =>
  new InvalidParametersError('The names of the parameters contradict one another.');

const listOf = (value: RawValue): readonly RawValue[] => {
  if (isRawObject(value)) throw contradiction();
  return Array.isArray(value) ? (value as readonly RawValue[]) : [value];
};

const readPairs = (text: string): ParameterDraft => {
  const draft = new ParameterDraft();
  // Counted before they are decoded: a megabyte of ampersands is not worth it.
  let pairs = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) pairs += 1;
  if (pairs > MAX_PARAMETERS) throw new BodyTooLargeError('The request has too many parameters.');
  for (const [name, value] of new URLSearchParams(text)) draft.add(name, value);
  return draft;
};

/** Reads a query string (without `?`). @throws InvalidParametersError, also for more than 1,000 parameters */
export const parseQuery = (text: string): RawParameters => {
  if (text === '') return noParameters();
  try {
    return readPairs(text).all();
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new InvalidParametersError('The query has too many parameters.');
  }
};

/**
 * Reads an urlencoded body. @throws InvalidParametersError; BodyTooLargeError for more than 1,000 parameters
 */
export const parseUrlencoded = (text: string): RawParameters =>
  text === '' ? noParameters() : readPairs(text).all();

interface Budget {
  nodes: number;
}

const toRawObject = (input: object, depth: number, budget: Budget): { readonly [key: string]: RawValue } => {
  const output = Object.create(null) as Record<string, RawValue>;
  for (const key of Object.keys(input)) {
    if (isPrototypeKey(key)) continue;
    const value = toRawValue((input as Record<string, unknown>)[key], depth - 1, budget);
    if (value !== undefined && value !== null) output[key] = value;
  }
  return output;
};

const toRawValue = (input: unknown, depth: number, budget: Budget): RawValue | undefined => {
  budget.nodes -= 1;
  if (budget.nodes < 0) throw new BodyTooLargeError('The request has too many parameters.');
  if (typeof input === 'string' || typeof input === 'boolean' || input === null) return input;
  if (typeof input === 'number') return Number.isFinite(input) ? input : undefined;
  if (typeof input !== 'object') return undefined;
  if (depth < 0) throw new InvalidParametersError('The parameters are nested too deeply.');
  if (!Array.isArray(input)) return toRawObject(input, depth, budget);
  return input.map((item: unknown) => toRawValue(item, depth - 1, budget) ?? null);
};

/**
 * Makes parameters of an object that JSON or a host's parser gave: a copy without prototypes, keys that reach
 * one, and members that are null. Flat names (`"mods[offset]"`) count as nested ones.
 * @throws InvalidParametersError when it is nested too deeply; BodyTooLargeError when it holds too many
 *   values
 */
export const fromObject = (input: object): RawParameters => {
  const raw = toRawObject(input, MAX_DEPTH, { nodes: MAX_NODES });
  const names = Object.keys(raw);
  if (!names.some((name) => name.includes('['))) return raw;
  const draft = ParameterDraft.of(
    Object.fromEntries(Object.entries(raw).filter(([name]) => !name.includes('['))),
  );
  for (const name of names) {
    const value = raw[name];
    if (name.includes('[') && value !== undefined) draft.add(name, value);
  }
  return draft.all();
};

/**
 * Names for which an empty text means that the parameter is absent, so that it does not hide the value
 * of the body.
 */
const absentWhenEmpty: ReadonlySet<string> = new Set(['action', 'source', 'path']);

const mergeValues = (over: RawValue, under: RawValue | undefined): RawValue => {
  if (!isRawObject(over) || !isRawObject(under)) return over;
  const merged = Object.assign(noParameters(), under) as Record<string, RawValue>;
  for (const [key, value] of Object.entries(over)) merged[key] = mergeValues(value, under[key]);
  return merged;
};

/**
 * Puts query and body together; the query wins by full name. `mods[offset]` in the query and `mods[limit]` in
 * the body are different names, so both count; lists are one value and never mixed.
 */
export const mergeParameters = (query: RawParameters, body: RawParameters): RawParameters => {
  if (Object.keys(body).length === 0) return query;
  const merged = Object.assign(noParameters(), body);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (value === '' && absentWhenEmpty.has(name) && merged[name] !== undefined) continue;
    merged[name] = mergeValues(value, body[name]);
  }
  return merged;
};
