import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import { CorruptError, StorageUnavailableError } from '../../../errors/errors.ts';
import { pause, timeOf } from '../core/http.ts';
import type { Stat } from '../../../storage/adapter.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { relationOf, segmentsOfHref } from './address.ts';
import { type DavResponse, type DavClient, type DavRequest, dropBody } from './client.ts';
import { errorOfFailure, errorOfStatus } from './errors.ts';
import { type DavResource, decodedBody, listingBudget, readMultistatus, statOf } from './multistatus.ts';

const PROPERTIES =
  '<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>' +
  '<resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';
const XML = { 'content-type': 'application/xml; charset=utf-8', 'accept-encoding': 'identity' };
const MOST_LISTING = 512 * 1024 * 1024;
const MOST_SMALL = 1024 * 1024;
/** Attempts for a PROPFIND that fails at the server. */
export const PROPFIND_ATTEMPTS = 4;
/** 425: the server is still processing a file that was just stored. */
const FAILED_FOR_NOW: ReadonlySet<number> = new Set([425, 500]);
/** Pauses between attempts after temporary failures. */
export const BACKOFF = { firstMs: 30, longestMs: 250 } as const;
const BATCH = 1000;

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** An entry of a listed folder, or the folder itself; `stat` is undefined for one that cannot be shown. */
export interface Member {
  readonly isSelf: boolean;
  readonly stat: Stat | undefined;
  /** The name in the server's spelling. */
  readonly written: string;
  /** The server's clock, in milliseconds since 1970. */
  readonly serverTime: number | undefined;
}

/** @throws the error for the folder itself, which some servers put into the multistatus */
const memberOf = (
  folder: readonly string[],
  asked: DavRequest,
  member: DavResource,
  serverTime: number | undefined,
): Member => {
  const relation = relationOf(folder, member.href);
  const isRefused = member.status !== undefined && !isSuccess(member.status);
  if (relation.kind === 'self') {
    if (isRefused) throw errorOfStatus(asked, member.status);
    const { name } = asked.path;
    return { isSelf: true, stat: statOf(name, member), written: name, serverTime };
  }
  if (relation.kind === 'other' || isRefused)
    return { isSelf: false, stat: undefined, written: '', serverTime };
  return { isSelf: false, stat: statOf(relation.name, member), written: relation.written, serverTime };
};

/** The URL of the rest of a listing, which some services split (Nutstore: after 750 entries); else its own. */
const restOf = ({ url }: DavRequest, { headers }: DavResponse): URL => {
  const target = /<([^<>]*)>\s*;\s*rel="?next\b/iu.exec(String(headers['link']))?.[1];
  if (target === undefined || !URL.canParse(target, url.href)) return url;
  const { pathname, search } = new URL(target, url);
  return new URL(url.origin + pathname + search);
};

async function* inBatches<T>(small: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const items of small) {
    batch.push(...items);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Reads properties of the server's resources. */
export class Propfind {
  readonly #client: DavClient;
  readonly #urlOf: (path: SourcePath, kind: 'file' | 'folder') => URL;
  readonly #rootSegments = new Once<readonly string[]>();

  constructor(client: DavClient, urlOf: (path: SourcePath, kind: 'file' | 'folder') => URL) {
    this.#client = client;
    this.#urlOf = urlOf;
  }

  /** The folder and its entries. @throws CorruptError for a response about another folder */
  async *members(
    path: SourcePath,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<readonly Member[], void, undefined> {
    const root = this.#rootSegments.get(() => this.#askRoot());
    const folder = [...(await orAborted(root, signal)), ...path.segments];
    const asked = this.#request(path, 'folder', '1', signal);
    const seen = new Set<string>();
    let [hasSelf, url] = [false, asked.url];
    // A service whose pages lead back to an earlier one must not be asked forever.
    while (!seen.has(url.href)) {
      seen.add(url.href);
      const page = { ...asked, url };
      const response = await this.#multistatus(page);
      const serverTime = timeOf(response.headers['date']);
      for await (const batch of inBatches(this.responses(page, response, MOST_LISTING))) {
        const members = batch.map((member) => memberOf(folder, page, member, serverTime));
        hasSelf ||= members.some(({ isSelf }) => isSelf);
        if (!hasSelf && members.every(({ stat }) => stat === undefined)) break;
        yield members;
      }
      if (hasSelf) url = restOf(page, response);
    }
    if (hasSelf) return;
    // Unrecognised entries must never look like an empty folder.
    this.#rootSegments.begun = undefined;
    throw new CorruptError({ detail: 'a listing that is not about the folder that was asked for' });
  }

  /** The path of the root as the server reports it; behind some proxies it differs from the requested one. */
  async #askRoot(): Promise<readonly string[]> {
    const { found } = await this.self(SourcePath.root, 'folder', undefined);
    const segments = found === undefined ? undefined : segmentsOfHref(found.href);
    if (segments === undefined)
      throw new CorruptError({ detail: 'the server does not report where the root is' });
    if (found?.isCollection !== true)
      throw new StorageUnavailableError({ detail: 'url is not a collection' });
    return segments.map((segment) => segment.normalize('NFC'));
  }

  /** The properties of one resource, and the date of the response. */
  async self(
    path: SourcePath,
    kind: 'file' | 'folder',
    signal: AbortSignal | undefined,
  ): Promise<{ readonly found: DavResource | undefined; readonly date: string | undefined }> {
    const asked = this.#request(path, kind, '0', signal);
    const response = await this.#multistatus(asked);
    let found: DavResource | undefined;
    for await (const [first] of this.responses(asked, response)) found ??= first;
    if (found?.status !== undefined && !isSuccess(found.status)) throw errorOfStatus(asked, found.status);
    return { found, date: response.headers['date'] };
  }

  #request(path: SourcePath, kind: 'file' | 'folder', depth: '0' | '1', signal: AbortSignal | undefined) {
    const headers = { ...XML, depth };
    return { method: 'PROPFIND', path, url: this.#urlOf(path, kind), headers, body: PROPERTIES, signal };
  }

  /** Sends a PROPFIND, repeated when the server fails because an item is being replaced. */
  async #multistatus(asked: DavRequest): Promise<DavResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#client.send(asked);
      if (response.status === 207) return response;
      await dropBody(response);
      if (!FAILED_FOR_NOW.has(response.status) || attempt === PROPFIND_ATTEMPTS)
        throw errorOfStatus(asked, isSuccess(response.status) ? 502 : response.status);
      await pause(attempt, BACKOFF, asked.signal);
    }
  }

  /** The responses of a multistatus, in batches. Consumes the body. */
  async *responses(
    asked: DavRequest,
    response: DavResponse,
    most = MOST_SMALL,
  ): AsyncGenerator<readonly DavResource[]> {
    const body = decodedBody(response);
    try {
      yield* readMultistatus(body as AsyncIterable<Uint8Array>, most, listingBudget());
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw errorOfFailure(asked, error);
    } finally {
      body.destroy();
      response.body.destroy();
    }
  }
}
