import { Readable } from 'node:stream';
import { FileAnswer, type HandedOverAnswer } from '../file-answer.ts';
import { type ShownEntry, entryShownBy } from '../public-files.ts';
import { followMoved } from './follow-moved.ts';
import type { ServingRequest, ServingServices } from './request.ts';
import { handOver, isShownInline, safetyHeaders } from './delivery.ts';
import { contentDisposition } from '../../basics/content/content-disposition.ts';
import { mimeTypeOf } from '../../basics/content/file-type.ts';
import {
  AccessDeniedError,
  NotFoundError,
  UnsafeNameError,
  UnsafePathError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { Stat } from '../../storage/entry.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { ViewedFile } from '../../view/item.ts';
import { FILE_KEYS, VARIANT_KEYS } from '../../view/rights.ts';

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

/**
 * What opens a file, and the version that it is: with one question to the store where nothing else has to be
 * known before.
 */
const openStored = async (
  file: ViewedFile,
  isPlain: boolean,
  known: Stat | undefined,
): Promise<Pick<FileAnswer, 'stat' | 'open'>> => {
  if (isPlain && known === undefined) {
    const read = await file.open({ bytesUpTo: SMALL_BYTES });
    return { stat: read.stat, open: () => Promise.resolve(read.bytes ?? read.stream) };
  }
  const stat = known ?? (await file.stat());
  return {
    stat,
    open: async (range) => {
      const read = await file.open({ range, ifMatch: stat.etag, bytesUpTo: SMALL_BYTES });
      return read.bytes ?? read.stream;
    },
  };
};

/** Sends a stored file. `known`: the store has been asked for it already. */
const sendStored = async (
  { view, isPlain }: ServingRequest,
  file: ViewedFile,
  known?: Stat,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { settings } = view.source;
  const { name } = file.path;
  const contentType = mimeTypeOf(name);
  const isInline = isShownInline(contentType);
  const headers = safetyHeaders(settings);
  if (settings.delivery !== 'stream') {
    // The store or the web server in front cannot make what is missing.
    const stat = known ?? (await file.stat());
    const disposition = contentDisposition(isInline ? 'inline' : 'attachment', name);
    const handedOver = await handOver({ settings, file, stat, contentType, disposition, headers });
    if (handedOver !== undefined) return handedOver;
  }
  const opened = await openStored(file, isPlain, known);
  return new FileAnswer({ filename: name, contentType, isInline, headers, ...opened });
};

const sendIcon = ({ view }: ServingRequest, svg: string, cacheControl?: string): FileAnswer => {
  const bytes = Buffer.from(svg);
  const headers = safetyHeaders(view.source.settings);
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

/** Sends a file, or the thumbnail or variant of an entry. @throws as `serveFile` */
const serveThere = async (
  { thumbnails }: ServingServices,
  request: ServingRequest,
  { entry, preset, isDrawn }: ShownEntry & { readonly isDrawn: boolean },
): Promise<FileAnswer | HandedOverAnswer> => {
  const { view, signal } = request;
  const { source } = view;
  if (!isDrawn) return asMissing(() => sendStored(request, view.file(entry)));
  const icon = preset === undefined ? thumbnails.iconNamed(source, entry.name) : undefined;
  if (icon !== undefined) return sendIcon(request, icon, FOREVER);
  const item = await view.look(entry, 'file');
  const shown = await thumbnails.show(source, entry.parent, item.stat, { preset, signal });
  if (shown.kind === 'icon') return sendIcon(request, shown.svg);
  if (shown.kind === 'stored') return sendStored(request, item.drawn(shown.path));
  if (item.kind !== 'file') throw new NotFoundError();
  return sendStored(request, item.file, item.stat);
};

/**
 * Serves a file, or the thumbnail or variant of an entry, which is made at its first request.
 * What listings hide is not there; what has another name now is answered with its link. Signature and rules
 * decide before the store is asked.
 * @throws NotFoundError, AccessDeniedError, BusyError, errors of the store
 */
export const serveFile = async (
  services: ServingServices,
  request: ServingRequest,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { view, query } = request;
  const { source } = view;
  const served = parsePath(request.segments);
  const shownBy = entryShownBy(source, served);
  const shown = { entry: served, ...shownBy, isDrawn: shownBy !== undefined };
  if (source.settings.serve === 'signed' && services.links.signatureIn(source, served, query) !== 'valid')
    throw new AccessDeniedError();
  view.require(shown.preset === undefined ? FILE_KEYS : VARIANT_KEYS, shown.entry, 'file');
  try {
    return await serveThere(services, request, shown);
  } catch (error) {
    const answer = error instanceof NotFoundError ? await followMoved(services, request, shown) : undefined;
    if (answer === undefined) throw error;
    return answer;
  }
};
