import { sanitizeName } from '../content/file-name.ts';
import { FileTooLargeError } from '../errors/errors.ts';
import { humanSize } from './listing/human-size.ts';

/** The refusal of an uploaded file, by the name that the client gave it: of many files people must know which one. `most` in bytes. */
export const fileTooLarge = (filename: string, most: number): FileTooLargeError =>
  new FileTooLargeError(
    `The file "${sanitizeName(filename)}" is too large: at most ${humanSize(most)} are allowed.`,
  );
