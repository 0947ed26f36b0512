import { Readable } from 'node:stream';
import type { Access } from '../../access/access.ts';
import { contentDisposition } from '../../basics/content/content-disposition.ts';
import { extensionOf } from '../../basics/content/extension.ts';
import { mimeTypeOf } from '../../basics/content/mime-type.ts';
import {
  AccessDeniedError,
  NotFoundError,
  UnsafeNameError,
  UnsafePathError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { Thumbnails } from '../../pictures/kept/thumbnails.ts';
import type { Links } from '../../sources/links.ts';
import type { Source } from '../../sources/source.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { Stat, ReadableStore } from '../../storage/readable.ts';
import { FileAnswer, type HandedOverAnswer } from '../file-answer.ts';
import { findItem, requireShownFile } from '../../view/item.ts';
import { storeToRead } from '../../view/open-source.ts';
import { entryShownBy, type ShownEntry } from '../shown-entry.ts';
import { handOver } from './delivery.ts';
import { FILE_KEYS, VARIANT_KEYS } from './keys.ts';
import { isShownInline, safetyHeaders } from './safety.ts';

/** A request for a file itself, not for an action. */
export interface ServingRequest {
  readonly source: Source;
  /** The path below the source, decoded segment by segment. */
  readonly segments: readonly string[];
  /** Without `?`. Only a signature is read from it. */
  readonly query: string;
  readonly signal: AbortSignal;
  /** A GET without ranges and conditions: the file may be opened without a look at it before. */
  readonly isPlain: boolean;
  /** What the one who asks may do; asked for protected sources. */
  readonly access: () => Promise<Access>;
}

/** What serving needs of its connector. */
export interface ServingServices {
  readonly thumbnails: Thumbnails;
  readonly links: Links;
}

/** Files of this size are sent from memory, as they are read: a stream would take longer than its content. */
const SMALL_BYTES = 64 * 1024;

/** The icon's name holds a hash of its drawing. */
const FOREVER = 'public, max-age=31536000, immutable';

/** @throws NotFoundError where no file can have this path */
const parsePath = (segments: readonly string[]): SourcePath => {
  try {
    // Segment by segment: an encoded slash or dot inside one is refused, not read as a way.
    return segments.reduce((path, segment) => path.child(segment), SourcePath.root);
  } catch (error) {
    if (error instanceof UnsafeNameError || error instanceof UnsafePathError) throw new NotFoundError();
    throw error;
  }
};

/** One file that is about to be sent. */
interface Served {
  readonly request: ServingRequest;
  readonly storage: ReadableStore;
}

/**
 * What opens a file, and the version that it is: with one question to the store where nothing else has to be
 * known before.
 */
const openStored = async (
  { request: { isPlain, signal }, storage }: Served,
  path: SourcePath,
  known: Stat | undefined,
): Promise<Pick<FileAnswer, 'stat' | 'open'>> => {
  if (isPlain && known === undefined) {
    const read = await storage.read(path, { signal, bytesUpTo: SMALL_BYTES });
    return { stat: read.stat, open: () => Promise.resolve(read.bytes ?? read.stream) };
  }
  const stat = known ?? (await storage.stat(path, { signal }));
  if (stat.kind !== 'file') throw new NotFoundError();
  return {
    stat,
    open: async (range) => {
      const read = await storage.read(path, { range, ifMatch: stat.etag, signal, bytesUpTo: SMALL_BYTES });
      return read.bytes ?? read.stream;
    },
  };
};

/** Sends a stored file. `known`: the store has been asked for it already. */
const sendStored = async (
  served: Served,
  path: SourcePath,
  known?: Stat,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { request, storage } = served;
  const { source, signal } = request;
  const { settings } = source;
  const contentType = mimeTypeOf(path.name);
  const isInline = isShownInline(contentType);
  const headers = safetyHeaders(settings);
  if (settings.delivery !== 'stream') {
    // Whoever sends the bytes would not know what is not there.
    const stat = known ?? (await storage.stat(path, { signal }));
    if (stat.kind !== 'file') throw new NotFoundError();
    const disposition = contentDisposition(isInline ? 'inline' : 'attachment', path.name);
    const handover = { settings, storage, path, stat, contentType, disposition, headers, signal };
    const handedOver = await handOver(handover);
    if (handedOver !== undefined) return handedOver;
  }
  const opened = await openStored(served, path, known);
  return new FileAnswer({ filename: path.name, contentType, isInline, headers, ...opened });
};

const sendIcon = ({ request }: Served, svg: string, cacheControl?: string): FileAnswer => {
  const bytes = Buffer.from(svg);
  const headers = safetyHeaders(request.source.settings);
  return new FileAnswer({
    filename: 'icon.svg',
    contentType: 'image/svg+xml',
    stat: { size: bytes.length, modifiedAt: undefined, etag: undefined },
    isInline: true,
    headers: cacheControl === undefined ? headers : { ...headers, 'cache-control': cacheControl },
    open: (range) =>
      Promise.resolve(
        Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)], {
          objectMode: false,
        }),
      ),
  });
};

/** A path that is a folder, or leads through a file, is a file that is not there. */
const asMissing = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WrongKindError) throw new NotFoundError({ cause: error });
    throw error;
  }
};

/**
 * Refuses who may not have a file: by its signature, or by the rules. The store is not asked
 * before.
 * @throws AccessDeniedError, and whatever says who asks
 */
const requireAllowed = async (
  { source, access, query }: ServingRequest,
  storage: ReadableStore,
  { links }: ServingServices,
  { served, entry, preset }: ShownEntry & { readonly served: SourcePath },
): Promise<void> => {
  const { serve } = source.settings;
  if (serve === 'signed' && !links.isSigned(source, served, query)) throw new AccessDeniedError();
  if (serve !== 'protected') return;
  const given = await access();
  const rules = storage.capabilities.caseSensitive ? given : given.foldingCase();
  for (const key of preset === undefined ? FILE_KEYS : VARIANT_KEYS)
    rules.require(key, entry, extensionOf(entry.name));
};

/**
 * Serves a file, or the thumbnail or variant of an entry, which is made when nobody has asked for it before.
 * What listings hide is not there.
 * @throws NotFoundError, AccessDeniedError, BusyError, errors of the store
 */
export const serveFile = async (
  services: ServingServices,
  request: ServingRequest,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { source, signal } = request;
  const { thumbnails } = services;
  const served = parsePath(request.segments);
  const shownBy = entryShownBy(source, served);
  const entry = shownBy?.entry ?? served;
  const preset = shownBy?.preset;
  const storage = await storeToRead(source);
  await requireAllowed(request, storage, services, {
    served,
    entry,
    ...(preset === undefined ? {} : { preset }),
  });
  const context: Served = { request, storage };

  const isThumb = shownBy !== undefined && preset === undefined;
  const icon = isThumb ? thumbnails.iconNamed(source, entry.name) : undefined;
  if (icon !== undefined) return sendIcon(context, icon, FOREVER);
  if (shownBy === undefined) {
    requireShownFile(source.settings, entry);
    return asMissing(() => sendStored(context, entry));
  }
  const { stat } = await findItem({ source, storage }, entry, signal, 'file');
  const shown = await thumbnails.show(source, entry.parent, stat, { preset, signal });
  if (shown.kind === 'icon') return sendIcon(context, shown.svg);
  if (shown.kind === 'stored') return sendStored(context, shown.path);
  if (stat.kind !== 'file') throw new NotFoundError();
  return sendStored(context, entry, stat);
};
