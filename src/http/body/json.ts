import { BrokenBodyError } from '../../errors/errors.ts';
import { fromObject, noParameters, type RawParameters } from '../../parameters/raw.ts';

/**
 * Parameters of a JSON body. An empty body and a list count as no parameters.
 * @throws BrokenBodyError for broken text and for a bare scalar.
 */
export const parseJsonBody = (text: string): RawParameters => {
  if (text.trim() === '') return noParameters();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BrokenBodyError({ message: 'The request body is not valid JSON.', cause });
  }
  if (typeof value !== 'object' || value === null) {
    throw new BrokenBodyError('The request body must be a JSON object.');
  }
  return Array.isArray(value) ? noParameters() : fromObject(value);
};
