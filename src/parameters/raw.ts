import { InvalidParametersError } from '../errors/errors.ts';

/** A value as parameters arrive: text from queries and forms, anything JSON knows from JSON bodies. */
export type RawValue =
  string | number | boolean | null | readonly RawValue[] | { readonly [key: string]: RawValue };

/** All parameters of a request after precedence, by their top-level name. Has no prototype. */
export type RawParameters = Readonly<Record<string, RawValue | undefined>>;

/** Deepest nesting of a body: `a[1]…[32]`, or 32 containers below the top one in JSON. */
export const MAX_DEPTH = 32;

/** Parameters while they are put together. */
export type RawDraft = Record<string, RawValue | undefined>;

/** An empty set of parameters, without a prototype. */
export const noParameters = (): RawDraft => Object.create(null) as RawDraft;

/** Whether a key could reach a prototype somewhere. Such keys are dropped wherever they stand. */
export const isPrototypeKey = (key: string): boolean => key === 'prototype' || key in Object.prototype;

/** Whether a raw value has keys of its own (and is not a list). */
export const isRawObject = (value: RawValue | undefined): value is { readonly [key: string]: RawValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toObject = (input: object, depth: number): { readonly [key: string]: RawValue } => {
  const output = Object.create(null) as Record<string, RawValue>;
  for (const key of Object.keys(input)) {
    if (isPrototypeKey(key)) continue;
    const value = toRawValue((input as Record<string, unknown>)[key], depth - 1);
    if (value !== undefined && value !== null) output[key] = value;
  }
  return output;
};

const toRawValue = (input: unknown, depth: number): RawValue | undefined => {
  if (typeof input === 'string' || typeof input === 'boolean' || input === null) return input;
  if (typeof input === 'number') return Number.isFinite(input) ? input : undefined;
  if (typeof input !== 'object') return undefined;
  if (depth < 0) throw new InvalidParametersError('The parameters are nested too deeply.');
  if (!Array.isArray(input)) return toObject(input, depth);
  return input.map((item: unknown) => toRawValue(item, depth - 1) ?? null);
};

/**
 * A copy of parsed input that is safe to hand on: no prototypes, no keys that reach one, members that are null left out.
 * @throws InvalidParametersError when it is nested deeper than `MAX_DEPTH`.
 */
export const toRawParameters = (input: object): RawParameters => toObject(input, MAX_DEPTH);
