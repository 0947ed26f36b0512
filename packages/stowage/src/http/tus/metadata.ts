import { InvalidParametersError } from '../../errors/errors.ts';

/** Longest header; it is kept with the upload. */
const MAX_LENGTH = 4096;
const BASE64 = /^(?:[\d+/A-Za-z]{4})*(?:[\d+/A-Za-z]{2}==|[\d+/A-Za-z]{3}=)?$/u;

const invalid = (reason: string): InvalidParametersError =>
  new InvalidParametersError(`Upload-Metadata: ${reason}.`);

const decode = (key: string, value: string): string => {
  if (!BASE64.test(value)) throw invalid(`the value of "${key}" must be Base64`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, 'base64'));
  } catch {
    throw invalid(`the value of "${key}" must be text in UTF-8`);
  }
};

/**
 * The pairs of `Upload-Metadata`: keys, each with a value in Base64 or without one (null).
 * @throws InvalidParametersError
 */
export const parseMetadata = (header: string | undefined): ReadonlyMap<string, string | null> => {
  const values = new Map<string, string | null>();
  if (header === undefined || header.trim() === '') return values;
  if (header.length > MAX_LENGTH) throw invalid(`must not be longer than ${String(MAX_LENGTH)} characters`);
  for (const pair of header.split(',')) {
    const [key = '', value, ...more] = pair.trim().split(/ +/u);
    if (!/^[\x21-\x2b\x2d-\x7e]{1,100}$/u.test(key) || more.length > 0)
      throw invalid('must be a list of keys, each with one value');
    if (values.has(key)) throw invalid('every key may stand once');
    values.set(key, value === undefined ? null : decode(key, value));
  }
  return values;
};
