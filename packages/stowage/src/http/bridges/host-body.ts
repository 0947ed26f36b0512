import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { orUndefined } from '../../errors/errors.ts';
import type { ParsedBody, UploadedContent } from '../message.ts';

interface MulterFile {
  readonly fieldname: string;
  readonly originalname: string;
  readonly buffer?: Buffer;
  readonly path?: string;
}

interface WithParsedBody {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly file?: unknown;
  readonly files?: unknown;
}

const isMulterFile = (value: unknown): value is MulterFile =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<MulterFile>).fieldname === 'string' &&
  typeof (value as Partial<MulterFile>).originalname === 'string';

/** multer decodes names as Latin-1 by default; this restores names in UTF-8. */
const repaired = (name: string): string => {
  if (!/^[\x00-\xff]*[\x80-\xff][\x00-\xff]*$/u.test(name)) return name;
  const bytes = Buffer.from(name, 'latin1');
  return orUndefined(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)) ?? name;
};

const toContent = ({ fieldname, originalname, buffer, path }: MulterFile): UploadedContent => ({
  field: fieldname,
  filename: repaired(originalname).split(/[\\/]/u).at(-1) ?? '',
  open: () => {
    if (buffer !== undefined) return Readable.from(buffer, { objectMode: false });
    return path === undefined ? Readable.from([]) : createReadStream(path);
  },
});

/** Files under the names that parsers use. multer: one file, a list, or lists by field. */
const filesOf = ({ file, files }: WithParsedBody): readonly unknown[] => {
  const lists: unknown[] =
    typeof files === 'object' && files !== null ? (Object.values(files) as unknown[]).flat() : [];
  return [file, ...lists].filter((one) => one !== undefined && one !== null);
};

/** A body that the host has read: parsed, or its raw bytes. */
export type HostBody =
  | { readonly parsedBody: ParsedBody; readonly body?: undefined }
  | { readonly body: Readable; readonly parsedBody?: undefined };

/** Whether the body carries files: decoded as text, their bytes may be damaged. */
const hasFiles = ({ headers }: WithParsedBody): boolean =>
  /^\s*(?:multipart\/|application\/offset\+)/iu.test(String(headers['content-type']));

/** Whether the body is not text in UTF-8, which decoding has damaged. */
const isDamagedBy = (text: string, { headers }: WithParsedBody): boolean => {
  const bytes = Buffer.byteLength(text);
  return text.includes('\ufffd') || bytes !== Number(headers['content-length'] ?? bytes);
};

const areFilesDamaged = (request: Readable & WithParsedBody): boolean => {
  const { body, readableDidRead, readableEncoding } = request;
  if (!hasFiles(request)) return false;
  return readableDidRead && typeof body === 'string' ? isDamagedBy(body, request) : readableEncoding !== null;
};

/**
 * The body that a body parser of the host has left on the request (`express.json()`, `express.urlencoded()`,
 * `express.raw()`, multer). Undefined while the stream is unread: some hosts set an empty `body` although the
 * stream is complete. Results of other parsers with other formats (express-fileupload), and files that were
 * damaged by decoding them as text, are not found.
 */
export const hostBody = <Request extends Readable & WithParsedBody>(
  request: Request,
  hasBody: (request: Request) => boolean,
): HostBody | undefined => {
  const { body } = request;
  const isDamaged = hasBody(request) && areFilesDamaged(request);
  if (!request.readableDidRead && !isDamaged) return undefined;
  if (!isDamaged && (typeof body === 'string' || body instanceof Uint8Array))
    return {
      body: Readable.from(typeof body === 'string' ? Buffer.from(body) : body, { objectMode: false }),
    };
  const files = filesOf(request);
  const known = files.filter(isMulterFile);
  const isNowhere = body === undefined && known.length === 0 && hasBody(request);
  return {
    parsedBody: {
      fields: Array.isArray(body) ? undefined : body,
      files: known.map(toContent),
      isMissing: isNowhere || isDamaged || known.length < files.length,
    },
  };
};
