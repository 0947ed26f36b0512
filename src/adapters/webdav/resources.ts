import {
  CorruptError,
  NotFoundError,
  StorageDeniedError,
  StorageUnavailableError,
} from '../../errors/errors.ts';
import type { OperationOptions, Stat } from '../../storage/adapter.ts';
import { ListedNames } from '../../storage/listed-names.ts';
import { orAborted } from '../../storage/or-aborted.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { respell, Spellings } from '../../storage/spellings.ts';
import { relationOf, segmentsOfHref, urlOf } from './address.ts';
import { decodedBody } from './encoding.ts';
import { dropBody, type DavAnswer, type DavClient, type DavRequest } from './client.ts';
import { statOf, timeOf } from './entry.ts';
import { errorOfStatus } from './errors.ts';
import { readMultistatus, type DavResponse } from './multistatus.ts';
import { patiently, pause, type Patience } from './patience.ts';

const PROPERTIES =
  '<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>' +
  '<resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';
const XML = { 'content-type': 'application/xml; charset=utf-8', 'accept-encoding': 'identity' };
const MOST_LISTING = 512 * 1024 * 1024;
const MOST_SMALL = 1024 * 1024;
/** How often the server is asked for what it fails to answer. */
const LOOKS = 4;
const LOT = 1000;

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** One entry of a listed folder, or the folder itself. */
interface Child {
  readonly isSelf: boolean;
  readonly stat: Stat;
  /** The name as the server writes it. */
  readonly written: string;
}

/** @throws the error of a refusal of the folder itself, which some servers put into the multistatus; entries that are refused are left out */
const childOf = (folder: readonly string[], asked: DavRequest, response: DavResponse): readonly Child[] => {
  const relation = relationOf(folder, response.href);
  if (relation.kind === 'other') return [];
  if (response.status !== undefined && !isSuccess(response.status)) {
    if (relation.kind === 'child') return [];
    throw errorOfStatus(asked, response.status);
  }
  return [
    relation.kind === 'self'
      ? { isSelf: true, stat: statOf(asked.path.name, response), written: asked.path.name }
      : { isSelf: false, stat: statOf(relation.name, response), written: relation.written },
  ];
};

/** Small batches put together. */
async function* inLots<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  let lot: T[] = [];
  for await (const batch of batches) {
    lot.push(...batch);
    if (lot.length < LOT) continue;
    yield lot;
    lot = [];
  }
  if (lot.length > 0) yield lot;
}

/** The resources of one store: their addresses, and what the server says of them. */
export class Resources {
  readonly client: DavClient;
  readonly spellings = new Spellings();
  readonly #root: URL;
  #rootSegments: Promise<readonly string[]> | undefined;

  /** `root` is the URL of the collection, `prefix` a path below it that the store lies in. */
  constructor(client: DavClient, root: URL, prefix: SourcePath) {
    this.client = client;
    this.#root = urlOf(root, prefix.segments, 'folder');
    if (!this.#root.pathname.endsWith('/')) this.#root.pathname += '/';
  }

  url(path: SourcePath, kind: 'file' | 'folder'): URL {
    return urlOf(this.#root, this.spellings.segmentsOf(path), kind);
  }

  /**
   * Sends a request whose answer has no content of interest; gives the status, that of a refusal inside a multistatus too. Some servers lock
   * what they work on for the time of each request, so what is locked is asked for again, unless its body cannot be sent twice; `again` may
   * end that early.
   */
  async act(
    method: string,
    path: SourcePath,
    kind: 'file' | 'folder',
    { again, ...more }: Partial<DavRequest> & Pick<Patience, 'again'>,
  ): Promise<number> {
    const asked: DavRequest = { method, path, url: this.url(path, kind), ...more };
    const send = async (): Promise<number> => this.#finalStatus(asked, await this.client.send(asked));
    if (typeof asked.body === 'object' && !asked.body.repeatable) return send();
    return patiently(send, { isPassing: (status) => status === 423, again, signal: asked.signal });
  }

  /** What lies at a path. @throws NotFoundError */
  async stat(path: SourcePath, { signal }: OperationOptions): Promise<Stat> {
    const { found } = await this.#self(path, 'file', signal);
    if (found === undefined) throw new NotFoundError({ detail: 'an empty multistatus' });
    return statOf(path.name, found);
  }

  /** How long ago something was changed, by the server's own clock; `ms` undefined where it does not say. Undefined: nothing lies there. */
  async age(
    path: SourcePath,
    { signal }: OperationOptions,
  ): Promise<{ readonly ms: number | undefined } | undefined> {
    try {
      const { found, date } = await this.#self(path, 'file', signal);
      const [now, then] = [timeOf(date), timeOf(found?.lastModified)];
      return { ms: now === undefined || then === undefined ? undefined : now - then };
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** To be asked when nothing was found under a path: whether the server has it in another spelling. Remembers what it finds. */
  async respell(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return respell(this.spellings, path, async (place) => (await this.age(place, options)) !== undefined);
  }

  /**
   * The entries of a folder and the folder itself, as the server sends them. Some servers break off when an entry vanishes meanwhile, so
   * a listing that breaks within its first thousand entries is asked for again. @throws NotFoundError, CorruptError
   */
  async *children(
    path: SourcePath,
    { signal }: OperationOptions,
  ): AsyncGenerator<readonly Child[], void, undefined> {
    const folder = [...(await orAborted(this.#reportedRoot(), signal)), ...path.segments];
    for (let attempt = 1; ; attempt += 1) {
      const asked = this.#propfind(path, 'folder', '1', signal);
      const listed = new ListedNames<Child>(path, this.spellings);
      let hasYielded = false;
      try {
        for await (const batch of inLots(
          this.#responses(asked, await this.#multistatus(asked), MOST_LISTING),
        )) {
          hasYielded = true;
          yield batch
            .flatMap((response) => childOf(folder, asked, response))
            .filter((child) => child.isSelf || listed.pass(child.stat.name, child.written, child));
        }
        yield listed.rest();
        return;
      } catch (error) {
        if (
          error instanceof NotFoundError &&
          !hasYielded &&
          attempt === 1 &&
          (await this.respell(path, { signal }))
        )
          continue;
        if (hasYielded || attempt === LOOKS || !(error instanceof CorruptError)) throw error;
      }
      await pause(attempt, signal);
    }
  }

  /** Where the server says that the root is: behind a proxy that may differ from where we ask. Asked once; a failure is not kept. */
  #reportedRoot(): Promise<readonly string[]> {
    const known = this.#rootSegments;
    if (known !== undefined) return known;
    // Without a signal, because all who ask share it.
    const asking = this.#askRoot();
    this.#rootSegments = asking;
    asking.catch(() => {
      if (this.#rootSegments === asking) this.#rootSegments = undefined;
    });
    return asking;
  }

  async #askRoot(): Promise<readonly string[]> {
    const { found } = await this.#self(SourcePath.root, 'folder', undefined);
    const segments = found === undefined ? undefined : segmentsOfHref(found.href);
    if (segments === undefined)
      throw new CorruptError({ detail: 'the server does not tell where the root is' });
    if (found?.isCollection !== true)
      throw new StorageUnavailableError({ detail: 'url is not a collection' });
    return segments.map((segment) => segment.normalize('NFC'));
  }

  /** What the server says of one resource, and when. */
  async #self(
    path: SourcePath,
    kind: 'file' | 'folder',
    signal: AbortSignal | undefined,
  ): Promise<{ readonly found: DavResponse | undefined; readonly date: string | undefined }> {
    const asked = this.#propfind(path, kind, '0', signal);
    const answer = await this.#multistatus(asked);
    let found: DavResponse | undefined;
    for await (const [first] of this.#responses(asked, answer, MOST_SMALL)) found ??= first;
    if (found?.status !== undefined && !isSuccess(found.status)) throw errorOfStatus(asked, found.status);
    return { found, date: answer.headers['date'] };
  }

  #propfind(
    path: SourcePath,
    kind: 'file' | 'folder',
    depth: '0' | '1',
    signal: AbortSignal | undefined,
  ): DavRequest {
    const headers = { ...XML, depth };
    return { method: 'PROPFIND', path, url: this.url(path, kind), headers, body: PROPERTIES, signal };
  }

  /** The answer to a PROPFIND. Some servers fail at what is being replaced in that moment, so it is asked for again. */
  async #multistatus(asked: DavRequest): Promise<DavAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.client.send(asked);
      if (answer.status === 207) return answer;
      await dropBody(answer);
      if (answer.status === 405) {
        throw new StorageDeniedError({ detail: 'PROPFIND is not allowed: url is not a WebDAV collection' });
      }
      if (answer.status !== 500 || attempt === LOOKS)
        throw errorOfStatus(asked, isSuccess(answer.status) ? 502 : answer.status);
      await pause(attempt, asked.signal);
    }
  }

  async *#responses(
    asked: DavRequest,
    answer: DavAnswer,
    most: number,
  ): AsyncGenerator<readonly DavResponse[]> {
    const body = decodedBody(answer);
    try {
      yield* readMultistatus(body as AsyncIterable<Uint8Array>, most);
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw this.client.failure(asked, error);
    } finally {
      body.destroy();
      answer.body.destroy();
    }
  }

  /** Some servers answer refusals by a multistatus that looks like a success. */
  async #finalStatus(asked: DavRequest, answer: DavAnswer): Promise<number> {
    if (answer.status !== 207) {
      await dropBody(answer);
      return answer.status;
    }
    let worst = 200;
    for await (const batch of this.#responses(asked, answer, MOST_SMALL)) {
      for (const { status = 200 } of batch) worst = Math.max(worst, status);
    }
    return worst;
  }
}
