import { parse as parseBrackets, type IParseOptions } from 'qs';
import { BodyTooLargeError, InvalidParametersError } from '../errors/errors.ts';
import { MAX_DEPTH, noParameters, toRawParameters, type RawParameters } from './raw.ts';

const MAX_PAIRS = 1000;

type Options = IParseOptions & { readonly strictDepth: true };

const query: Options = {
  depth: 5,
  arrayLimit: 20,
  parameterLimit: MAX_PAIRS,
  plainObjects: true,
  strictDepth: true,
};
const body: Options = { ...query, depth: MAX_DEPTH, arrayLimit: MAX_PAIRS };

const hasTooManyPairs = (text: string): boolean => {
  let pairs = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    pairs += 1;
    if (pairs > MAX_PAIRS) return true;
  }
  return false;
};

const read = (input: string | Record<string, string>, options: Options): RawParameters => {
  try {
    return toRawParameters(parseBrackets(input, options));
  } catch (error) {
    // qs says RangeError when names are nested beyond the limit.
    if (!(error instanceof RangeError)) throw error;
    throw new InvalidParametersError('The parameters are nested too deeply.');
  }
};

/**
 * Reads a query string (without `?`): names nested up to 5 brackets, lists of up to 20 items, 1,000 parameters.
 * @throws InvalidParametersError beyond these limits.
 */
export const parseQuery = (text: string): RawParameters => {
  if (text === '') return noParameters();
  if (hasTooManyPairs(text)) throw new InvalidParametersError('The query has too many parameters.');
  return read(text, query);
};

/**
 * Reads an urlencoded body: names nested up to 32 brackets.
 * @throws BodyTooLargeError for more than 1,000 pairs, InvalidParametersError for deeper nesting.
 */
export const parseUrlencoded = (text: string): RawParameters => {
  if (text === '') return noParameters();
  if (hasTooManyPairs(text)) throw new BodyTooLargeError('The request body has too many parameters.');
  return read(text, body);
};

/**
 * Makes parameters of an object that JSON or a host's parser gave. Flat names (`"mods[offset]"`) count as nested ones.
 * @throws InvalidParametersError when it is nested too deeply.
 */
export const fromObject = (input: object): RawParameters => {
  const raw = toRawParameters(input);
  if (!Object.keys(raw).some((key) => key.includes('['))) return raw;
  // qs takes an object of names too; its types only know objects of texts.
  return read(raw as Record<string, string>, body);
};
