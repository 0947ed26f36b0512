import {
  BodyTooLargeError,
  BusyError,
  InternalError,
  InvalidParametersError,
  isHttpError,
  OffsetConflictError,
  StowageError,
  TusVersionError,
  UnsupportedError,
} from '../../errors/errors.ts';
import { unknownUpload } from './unfinished-uploads.ts';

/** The version of the protocol that the package speaks. */
export const TUS_VERSION = '1.0.0';

/** The error for a status and text with which the library refuses a request. */
export const refusedBy = (status: number, text: string): StowageError => {
  switch (status) {
    case 404:
    case 410:
      return unknownUpload();
    case 409:
      return new OffsetConflictError();
    case 412:
      return new TusVersionError({ headers: { 'Tus-Version': TUS_VERSION } });
    case 413:
      return new BodyTooLargeError('The upload is longer than was announced.');
    case 501:
      return new UnsupportedError(text.trim());
    default:
      if (/^invalid tus-resumable/iu.test(text))
        return new TusVersionError({ headers: { 'Tus-Version': TUS_VERSION } });
      // Another request for the same upload has come meanwhile.
      if (text.startsWith('Request aborted')) return new BusyError({ detail: text });
      if (status >= 500)
        return new InternalError({ detail: `@tus/server answered ${String(status)}: ${text}` });
      return new InvalidParametersError(text.trim());
  }
};

interface LibraryError {
  readonly status_code: number;
  readonly body: string;
}

const isLibraryError = (error: unknown): error is LibraryError =>
  typeof error === 'object' &&
  error !== null &&
  'status_code' in error &&
  typeof error.status_code === 'number' &&
  'body' in error &&
  typeof error.body === 'string';

/** Our error for one that the library reports: its own, or one of ours that it hands on. */
export const asProtocolError = (error: unknown): unknown => {
  if (error instanceof StowageError || isHttpError(error)) return error;
  if (isLibraryError(error)) return refusedBy(error.status_code, error.body);
  return new InternalError({ detail: 'an upload failed', cause: error });
};
