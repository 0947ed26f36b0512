import { BodyTooLargeError, InvalidParametersError } from '../errors/errors.ts';
import { invalidParameter, MOST_UNITS, type TextBounds } from './fields.ts';

/** A value of a raw parameter: text from queries and forms, any JSON value from JSON bodies. */
export type RawValue =
  | string
  | number
  | boolean
  | null
  | readonly RawValue[]
  | { readonly [key: string]: RawValue };

/** All parameters of a request, with query and body merged, by their top-level name. Has no prototype. */
export type RawParameters = Readonly<Record<string, RawValue | undefined>>;

type RawDraft = Record<string, RawValue | undefined>;

/** Maximum nesting of a JSON body below its top. */
const MAX_DEPTH = 32;
/** Maximum number of values in a JSON body, at all levels. */
const MAX_NODES = 10_000;
/** Maximum number of parameters in a query or a body. */
const MAX_PARAMETERS = 1000;

/** An empty set of parameters, without a prototype. */
export const noParameters = (): RawDraft => Object.create(null) as RawDraft;

/** Whether a key could reach a prototype. Such keys are dropped at every level. */
const isPrototypeKey = (key: string): boolean => key === 'prototype' || key in Object.prototype;

const isRawObject = (value: RawValue | undefined): value is { [key: string]: RawValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// The protocol has one level of brackets: `path`, `mods[limit]`, `files[0]`, `files[]`.
const NAME = /^([^[]+)(?:\[([^[\]]*)\])?$/u;

/** @throws InvalidParametersError */
const requireShortName = (name: string): void => {
  if (name.length > MOST_UNITS) throw new InvalidParametersError('The name of a parameter is too long.');
};

/**
 * Enforces the bound of every text of a request before any other work on it. Returns undefined for a long
 * text that no action uses, such as a token added by a proxy or an editor: it is dropped.
 * @throws InvalidParametersError for a text that is longer than its parameter allows
 */
const bounded = (parameter: string, text: string, bounds: TextBounds): string | undefined => {
  const most = bounds(parameter);
  if (text.length <= (most ?? MOST_UNITS)) return text;
  if (most === undefined) return undefined;
  throw invalidParameter(parameter, `must not be longer than ${String(most)} characters`);
};

/** Parameters during parsing, added one name and value at a time: `name`, `name[key]`, `name[]`. */
export class ParameterDraft {
  // The draft owns the lists and objects in it: they grow in place, at a cost linear in the number of names.
  readonly #values = noParameters();
  readonly #bounds: TextBounds;
  #count = 0;

  constructor(bounds: TextBounds) {
    this.#bounds = bounds;
  }

  /**
   * Adds a value, which the draft owns afterwards. A repeated name makes a list; a list grows by its next
   * index only. Drops names that reach a prototype, and long texts that no action uses.
   * @throws InvalidParametersError for names of more than one level, contradicting names, and names and texts
   * that are too long; BodyTooLargeError for more than 1,000 parameters
   */
  add(name: string, value: RawValue): void {
    this.#count += 1;
    if (this.#count > MAX_PARAMETERS) throw new BodyTooLargeError('The request has too many parameters.');
    requireShortName(name);
    const [, top = '', key] = NAME.exec(name) ?? [];
    if (top === '') {
      if (name === '' || !name.includes('[')) return;
      throw new InvalidParametersError('Parameters nest by one level only, as in "mods[limit]".');
    }
    if (isPrototypeKey(top) || (key !== undefined && isPrototypeKey(key))) return;
    const kept = typeof value === 'string' ? bounded(top, value, this.#bounds) : value;
    if (kept === undefined) return;
    if (key === undefined) addTo(this.#values, top, kept);
    else if (/^\d*$/u.test(key)) this.#append(top, key, kept);
    else this.#set(top, key, kept);
  }

  /** Sets a JSON value whose keys and text lengths are already checked. */
  put(name: string, value: RawValue): void {
    this.#values[name] = value;
  }

  /** A parameter that is plain text and occurred once. */
  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  all(): RawParameters {
    return this.#values;
  }

  #append(top: string, index: string, value: RawValue): void {
    const old = this.#values[top];
    const list = old === undefined ? [] : listOf(old);
    if (index !== '' && Number(index) !== list.length)
      throw new InvalidParametersError('The items of a list must be numbered from 0, without gaps.');
    list.push(value);
    this.#values[top] = list;
  }

  #set(top: string, key: string, value: RawValue): void {
    const members = (this.#values[top] ??= noParameters() as RawValue);
    if (!isRawObject(members)) throw contradiction();
    addTo(members, key, value);
  }
}

const contradiction = (): InvalidParametersError =>
  new InvalidParametersError('The names of the parameters contradict one another.');

const listOf = (value: RawValue): RawValue[] => {
  if (isRawObject(value)) throw contradiction();
  return Array.isArray(value) ? (value as RawValue[]) : [value];
};

const addTo = (values: RawDraft, key: string, value: RawValue): void => {
  const old = values[key];
  if (old === undefined) {
    values[key] = value;
    return;
  }
  const list = listOf(old);
  list.push(value);
  values[key] = list;
};

const readPairs = (text: string, bounds: TextBounds): ParameterDraft => {
  const draft = new ParameterDraft(bounds);
  // Counted before decoding, which would be wasted on a megabyte of ampersands.
  let pairs = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) pairs += 1;
  if (pairs > MAX_PARAMETERS) throw new BodyTooLargeError('The request has too many parameters.');
  for (const [name, value] of new URLSearchParams(text)) draft.add(name, value);
  return draft;
};

/** Reads a query string (without `?`). @throws InvalidParametersError, also for more than 1,000 parameters */
export const parseQuery = (text: string, bounds: TextBounds): RawParameters => {
  if (text === '') return noParameters();
  try {
    return readPairs(text, bounds).all();
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error;
    throw new InvalidParametersError('The query has too many parameters.');
  }
};

/** Reads an urlencoded body. @throws InvalidParametersError; BodyTooLargeError for over 1,000 parameters */
export const parseUrlencoded = (text: string, bounds: TextBounds): RawParameters =>
  text === '' ? noParameters() : readPairs(text, bounds).all();

interface Budget {
  nodes: number;
  /** Name of the parameter that is being copied. */
  parameter: string;
  readonly bounds: TextBounds;
}

const toRawObject = (input: object, depth: number, budget: Budget): RawValue => {
  const output = noParameters() as Record<string, RawValue>;
  for (const key of Object.keys(input)) {
    requireShortName(key);
    if (isPrototypeKey(key)) continue;
    const value = toRawValue((input as Record<string, unknown>)[key], depth - 1, budget);
    if (value !== undefined && value !== null) output[key] = value;
  }
  return output;
};

const toRawValue = (input: unknown, depth: number, budget: Budget): RawValue | undefined => {
  budget.nodes -= 1;
  if (budget.nodes < 0) throw new BodyTooLargeError('The request has too many parameters.');
  if (typeof input === 'string') return bounded(budget.parameter, input, budget.bounds);
  if (typeof input === 'boolean' || input === null) return input;
  // JSON numbers may be too large, and then are infinite.
  if (typeof input === 'number') return Number.isNaN(input) ? undefined : input;
  if (typeof input !== 'object') return undefined;
  if (depth < 0) throw new InvalidParametersError('The parameters are nested too deeply.');
  if (!Array.isArray(input)) return toRawObject(input, depth, budget);
  return input.map((item: unknown) => toRawValue(item, depth - 1, budget) ?? null);
};

/**
 * Creates parameters from an object of JSON or a host's parser: a copy without prototypes, without keys that
 * reach one, and without null members. Flat names (`"mods[offset]"`) count as nested ones and are added after
 * those.
 * @throws InvalidParametersError when it is nested too deeply, or a name or text is too long;
 * BodyTooLargeError when it holds too many values
 */
export const fromObject = (input: object, bounds: TextBounds): ParameterDraft => {
  const draft = new ParameterDraft(bounds);
  const budget = { nodes: MAX_NODES, parameter: '', bounds };
  const flat: [string, RawValue][] = [];
  for (const name of Object.keys(input)) {
    requireShortName(name);
    if (isPrototypeKey(name)) continue;
    [budget.parameter = ''] = name.split('[', 1);
    const value = toRawValue((input as Record<string, unknown>)[name], MAX_DEPTH - 1, budget);
    if (value === undefined || value === null) continue;
    if (name.includes('[')) flat.push([name, value]);
    else draft.put(name, value);
  }
  for (const [name, value] of flat) draft.add(name, value);
  return draft;
};

/** Parameters for which an empty text counts as absent, so that it does not hide the value in the body. */
const absentWhenEmpty: ReadonlySet<string> = new Set(['action', 'source', 'path']);

const mergeValues = (over: RawValue, under: RawValue | undefined): RawValue => {
  if (!isRawObject(over) || !isRawObject(under)) return over;
  const merged = Object.assign(noParameters(), under) as Record<string, RawValue>;
  for (const [key, value] of Object.entries(over)) merged[key] = mergeValues(value, under[key]);
  return merged;
};

/**
 * Merges query and body; the query wins by full name. `mods[offset]` in the query and `mods[limit]` in the
 * body are different names, so both count; a list counts as one value and is never mixed.
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
