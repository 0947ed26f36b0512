/** One row of the error table: the HTTP status and the general message for the client. */
export interface ErrorRow {
  readonly status: number;
  readonly message: string;
}

/** All errors by cause: the single source for statuses and public messages, and for the error reference. */
export const errorTable = {
  INVALID_PARAMETERS: { status: 400, message: 'The request is not valid.' },
  UNSAFE_PATH: { status: 400, message: 'The path is not allowed.' },
  UNSAFE_NAME: { status: 400, message: 'The name is not allowed.' },
  ALREADY_EXISTS: { status: 400, message: 'A file or folder with this name already exists.' },
  WRONG_KIND: { status: 400, message: 'The item is of another kind.' },
  NOT_EMPTY: { status: 400, message: 'The folder is not empty.' },
  CONTENTS_CONFLICT: {
    status: 400,
    message: 'Something inside the folder has a name that the destination already uses.',
  },
  INTO_ITSELF: { status: 400, message: 'A folder cannot be put into itself.' },
  BROKEN_BODY: { status: 400, message: 'The request body could not be read.' },
  BROKEN_IMAGE: { status: 400, message: 'The file is not an image that can be processed.' },
  REMOTE_FAILED: { status: 400, message: 'The remote file could not be fetched.' },
  DOCUMENT_LIMIT: { status: 400, message: 'The document is too large or too complex.' },
  UNAUTHENTICATED: { status: 401, message: 'Please log in.' },
  REFUSED_BY_HOST: { status: 400, message: 'The request was refused.' },
  ACCESS_DENIED: { status: 403, message: 'Access denied.' },
  TYPE_NOT_ALLOWED: { status: 403, message: 'This file type is not allowed.' },
  FILE_TOO_LARGE: { status: 403, message: 'The file is too large.' },
  ADDRESS_REFUSED: { status: 403, message: 'This address must not be fetched.' },
  ORIGIN_REFUSED: { status: 403, message: 'This origin is not allowed.' },
  NOT_FOUND: { status: 404, message: 'File or folder not found.' },
  UNKNOWN_ACTION: { status: 404, message: 'Unknown action.' },
  UNKNOWN_SOURCE: { status: 404, message: 'Unknown source.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This method is not allowed.' },
  REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
  OFFSET_CONFLICT: { status: 409, message: 'The upload continues at another byte.' },
  CHANGED_MEANWHILE: { status: 412, message: 'The file has been changed meanwhile.' },
  TUS_VERSION: { status: 412, message: 'Uploads in parts need tus 1.0.0.' },
  ARCHIVE_LIMIT: { status: 413, message: 'The archive would be too large.' },
  BODY_TOO_LARGE: { status: 413, message: 'The request body is too large.' },
  QUOTA_EXCEEDED: { status: 413, message: 'There is not enough room left here.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The media type of the content is not accepted here.' },
  RANGE_NOT_SATISFIABLE: { status: 416, message: 'The requested range is outside of the file.' },
  UNPROCESSABLE: { status: 422, message: 'A parameter could not be read.' },
  REFUSED_BY_INSPECTION: { status: 422, message: 'The file was refused by the inspection.' },
  RATE_LIMITED: { status: 429, message: 'Too many requests. Try again later.' },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: 'The URL or the headers are too long. Send long parameters by POST.',
  },
  INTERNAL: { status: 500, message: 'Internal error.' },
  DOCUMENT_FAILED: { status: 500, message: 'The document could not be made.' },
  MOVED_IN_PART: { status: 500, message: 'Not everything could be moved. The rest is still where it was.' },
  STORAGE_DENIED: { status: 500, message: 'The storage refused the operation.' },
  STORAGE_FULL: { status: 500, message: 'The storage has no room left.' },
  STORAGE_TIMEOUT: { status: 500, message: 'The storage did not respond in time.' },
  STORAGE_UNAVAILABLE: { status: 500, message: 'The storage is not available.' },
  CORRUPT: { status: 500, message: 'The storage returned damaged data.' },
  UNSUPPORTED: { status: 501, message: 'This is not supported here.' },
  BUSY: { status: 503, message: 'The service is busy. Try again in a moment.' },
  INSPECTION_UNAVAILABLE: {
    status: 503,
    message: 'Files cannot be inspected at the moment. Try again later.',
  },
  SHUTTING_DOWN: { status: 503, message: 'The service is shutting down.' },
} as const satisfies Record<string, ErrorRow>;

/** Stable code of an error's cause; a key of the table. */
export type ErrorCode = keyof typeof errorTable;

/** Messages for errors with known values, which are in braces. */
export const detailedMessages = {
  UNSAFE_NAME: '"{name}": this name is not allowed.',
  ALREADY_EXISTS: '"{name}" already exists.',
  TYPE_NOT_ALLOWED: '"{name}": this file type is not allowed.',
  FILE_TOO_LARGE: 'The file "{name}" is too large: at most {limit} are allowed.',
  BROKEN_IMAGE: '"{name}": this file is not an image that can be processed.',
  REFUSED_BY_INSPECTION: 'The file "{name}" was refused by the inspection: {reason}',
  QUOTA_EXCEEDED: 'There is not enough room left here: {left} of {limit} are free.',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** A code that has a message with values. */
export type DetailedCode = keyof typeof detailedMessages;

export type ErrorDetails = Readonly<Record<string, string | number>>;

/** Fills the values into a message; undefined when one of them is missing. */
export const filled = (template: string, details: ErrorDetails): string | undefined => {
  const isComplete = [...template.matchAll(/\{(\w+)\}/gu)].every(([, name = '']) => name in details);
  return isComplete
    ? template.replaceAll(/\{(\w+)\}/gu, (_, name: string) => String(details[name]))
    : undefined;
};
