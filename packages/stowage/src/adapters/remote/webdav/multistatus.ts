import type { Readable } from 'node:stream';
import { createUnzip } from 'node:zlib';
import { SaxesParser, type SaxesTagNS } from 'saxes';
import { ParseBudget } from '../../../basics/content/parse-budget.ts';
import { CorruptError } from '../../../errors/errors.ts';
import { lengthOf, strongEtag, timeOf } from '../core/http.ts';
import type { Stat } from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import type { DavResponse } from './client.ts';

/** One `response` of a multistatus (RFC 4918). */
export interface DavResource {
  readonly href: string;
  readonly status: number | undefined;
  readonly isCollection: boolean;
  readonly contentLength: string | undefined;
  readonly lastModified: string | undefined;
  readonly etag: string | undefined;
}

/** An entry from the properties of a resource. */
export const statOf = (name: string, response: DavResource): Stat =>
  response.isCollection
    ? { ...folderNamed(name), modifiedAt: timeOf(response.lastModified) }
    : {
        name,
        kind: 'file',
        size: lengthOf(response.contentLength),
        modifiedAt: timeOf(response.lastModified),
        etag: strongEtag(response.etag),
      };

/** The decompressed body of a response. Destroying it destroys the body of the response too. */
export const decodedBody = ({ headers, body }: Pick<DavResponse, 'headers' | 'body'>): Readable => {
  if (!ZIPPED.test(headers['content-encoding']?.trim() ?? '')) return body;
  const unzip = createUnzip();
  // A pipe does not forward errors.
  body.once('error', (error) => unzip.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded)
      unzip.destroy(new CorruptError({ detail: 'a packed response that was cut off' }));
  });
  return body.pipe(unzip);
};

const ZIPPED = /^(?:x-)?(?:gzip|deflate)$/iu;
const DAV = 'DAV:';
/** Longer than any used property or any href. */
const MOST_TEXT = 64 * 1024;
/** Items are elements. Bytes are text without tags, which the parser buffers until its end. */
const LIMITS = { items: 50_000_000, depth: 64, bytes: 256 * 1024 };

export const listingBudget = (): ParseBudget =>
  new ParseBudget(
    LIMITS,
    (limit) => new CorruptError({ detail: `a multistatus with too much of it: ${limit}` }),
  );

type Mutable = { -readonly [Key in keyof DavResource]: DavResource[Key] };

interface PropStat {
  status: number | undefined;
  values: Partial<Mutable>;
}

const statusOf = (line: string): number | undefined => {
  const digits = /\b(\d{3})\b/u.exec(line)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

const fresh = (): Mutable => ({
  href: '',
  status: undefined,
  isCollection: false,
  contentLength: undefined,
  lastModified: undefined,
  etag: undefined,
});

/** Texts of properties, by their elements. */
const PROPERTIES: ReadonlyMap<string, 'contentLength' | 'lastModified' | 'etag'> = new Map([
  ['getcontentlength', 'contentLength'],
  ['getlastmodified', 'lastModified'],
  ['getetag', 'etag'],
]);

/** Adds the properties of a propstat, and returns its status: missing ones have their own, with 404. */
const addFound = (response: Mutable, { status = 200, values }: PropStat): number => {
  if (status >= 200 && status < 300) Object.assign(response, values);
  return status;
};

/** A resource without any property is missing. */
const finished = (response: Mutable, statuses: ReadonlySet<number>): DavResource =>
  statuses.size === 1 && statuses.has(404) ? { ...response, status: response.status ?? 404 } : response;

/** Builds responses from the elements of one document. Uses DAV: elements only, whatever their prefix. */
const responseBuilder = (onResponse: (response: DavResource) => void) => {
  const stack: string[] = [];
  let text = '';
  let response: Mutable | undefined;
  let propstat: PropStat | undefined;
  let statuses = new Set<number>();
  return {
    open: (tag: SaxesTagNS): void => {
      const name = tag.uri === DAV ? tag.local : '';
      if (stack.length === 0 && name !== 'multistatus')
        throw new CorruptError({ detail: 'not a multistatus' });
      stack.push(name);
      text = '';
      if (name === 'response') [response, statuses] = [fresh(), new Set()];
      else if (name === 'propstat') propstat = { status: undefined, values: {} };
      else if (name === 'collection' && propstat !== undefined) propstat.values.isCollection = true;
    },
    text: (more: string): void => {
      text += more;
      if (text.length > MOST_TEXT)
        throw new CorruptError({ detail: 'a multistatus with a text that is too long' });
    },
    close: (): void => {
      const [name = '', parent, value] = [stack.pop(), stack.at(-1), text.trim()];
      const property = parent === 'prop' && value !== '' ? PROPERTIES.get(name) : undefined;
      text = '';
      if (response === undefined) return;
      if (name === 'response') {
        onResponse(finished(response, statuses));
        response = undefined;
      } else if (name === 'propstat') {
        if (propstat !== undefined) statuses.add(addFound(response, propstat));
        propstat = undefined;
      } else if (name === 'status') (propstat ?? response).status = statusOf(value);
      // A response may contain more hrefs inside other elements; its own is a direct child.
      else if (name === 'href' && parent === 'response') response.href = value;
      else if (property !== undefined && propstat !== undefined) propstat.values[property] = value;
    },
  };
};

/**
 * Parses a multistatus as a stream, in batches of responses. Rejects document types and knows no entities, so
 * nothing expands.
 * @throws CorruptError when it is not a well-formed multistatus, is longer than `mostBytes` or exceeds the
 * budget
 */
export async function* readMultistatus(
  chunks: AsyncIterable<Uint8Array>,
  mostBytes: number,
  budget: ParseBudget,
): AsyncGenerator<readonly DavResource[], void, undefined> {
  let batch: DavResource[] = [];
  const builder = responseBuilder((response) => batch.push(response));
  const parser = new SaxesParser({ xmlns: true });
  const fail = (cause: unknown): never => {
    if (cause instanceof CorruptError) throw cause;
    throw new CorruptError({ detail: 'a listing that is not well-formed', cause });
  };
  parser.on('error', fail);
  parser.on('doctype', () => fail(new Error('document types are refused')));
  // Called before the parser resolves the namespaces of the element.
  parser.on('opentagstart', () => {
    budget.spendItems();
    budget.enter();
  });
  parser.on('opentag', (tag) => {
    budget.freeBytes();
    builder.open(tag);
  });
  parser.on('text', (text) => builder.text(text));
  parser.on('cdata', (text) => builder.text(text));
  parser.on('closetag', () => {
    budget.leave();
    budget.freeBytes();
    builder.close();
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) throw new CorruptError({ detail: 'a listing that is too long' });
    try {
      parser.write(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      fail(error);
    }
    budget.spendBytes(chunk.byteLength);
    if (batch.length > 0) {
      yield batch;
      batch = [];
    }
  }
  try {
    parser.write(decoder.decode()).close();
  } catch (error) {
    fail(error);
  }
  if (batch.length > 0) yield batch;
}
