import appendField from 'append-field';
import { BrokenBodyError, InvalidParametersError } from '../errors/errors.ts';
import {
  isPrototypeKey,
  MAX_DEPTH,
  noParameters,
  toRawParameters,
  type RawDraft,
  type RawParameters,
} from './raw.ts';

const MAX_NAME = 1000;

/**
 * Text fields of a multipart form, collected as they arrive. Names are those of npm `append-field`; names that reach a
 * prototype are dropped.
 */
export class FormFields {
  readonly #draft: RawDraft = noParameters();

  /** Fields that a host has read before. */
  static of(parameters: RawParameters): FormFields {
    const fields = new FormFields();
    Object.assign(fields.#draft, parameters);
    return fields;
  }

  /** @throws BrokenBodyError for a name that no form has; InvalidParametersError when it is nested too deeply. */
  add(name: string, value: string): void {
    if (name.length > MAX_NAME) throw new BrokenBodyError('A field name of the form is too long.');
    const parts = name.split('[');
    if (parts.length - 1 > MAX_DEPTH)
      throw new InvalidParametersError('The parameters are nested too deeply.');
    if (parts.some((part) => isPrototypeKey(part.replace(/\]$/u, '')))) return;
    // A list that begins at a high index would be as long as that index says.
    if (/\[\d{4,}\]/u.test(name)) throw new InvalidParametersError('A list index of the form is too high.');
    try {
      appendField(this.#draft, name, value);
    } catch (cause) {
      throw new BrokenBodyError({ message: 'The field names of the form contradict one another.', cause });
    }
  }

  /** A top-level field that has arrived as plain text, once. */
  text(name: string): string | undefined {
    const value = this.#draft[name];
    return typeof value === 'string' ? value : undefined;
  }

  all(): RawParameters {
    return toRawParameters(this.#draft);
  }
}
