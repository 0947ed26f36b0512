import { isRawObject, type RawParameters, type RawValue } from './raw.ts';

/** Parameters whose texts may mean booleans, numbers or nothing. */
const typedNames = ['mods', 'dots'] as const;

const words: ReadonlyMap<string, boolean | undefined> = new Map([
  ['true', true],
  ['false', false],
  // Clients write these words for values they do not have.
  ['undefined', undefined],
  ['null', undefined],
]);

const typedText = (text: string): RawValue | undefined => {
  if (words.has(text)) return words.get(text);
  if (!/^-?\d/u.test(text)) return text;
  const number = Number(text);
  // Only where the text can be made of the number again: a search for `007` or `1.10` must not lose its zeros.
  return String(number) === text ? number : text;
};

const typed = (value: RawValue): RawValue | undefined => {
  if (typeof value === 'string') return typedText(value);
  if (!isRawObject(value)) return value;
  const output = Object.create(null) as Record<string, RawValue>;
  for (const [key, member] of Object.entries(value)) {
    const result = typed(member);
    if (result !== undefined) output[key] = result;
  }
  return output;
};

/**
 * In `mods` and `dots`, and only there: exactly `true` and `false` become booleans, numbers in their plain spelling become
 * numbers, and the words `undefined` and `null` make the parameter absent.
 */
export const withTypedValues = (raw: RawParameters): RawParameters => {
  if (raw['mods'] === undefined && raw['dots'] === undefined) return raw;
  const output = Object.assign(Object.create(null), raw) as Record<string, RawValue | undefined>;
  for (const name of typedNames) {
    const value = output[name];
    if (value !== undefined) output[name] = typed(value);
  }
  return output;
};
