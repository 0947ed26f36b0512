import { Readable } from 'node:stream';
import type { Access } from '../../access/access.ts';
import { contentDisposition } from '../../content/content-disposition.ts';
import { extensionOf } from '../../content/extension.ts';
import { mimeTypeOf } from '../../content/mime-type.ts';
import { AccessDeniedError, NotFoundError, UnsafeNameError, UnsafePathError } from '../../errors/errors.ts';
import type { Thumbnails } from '../../images/thumbnails.ts';
import type { Links } from '../../links/links.ts';
import type { Source } from '../../sources/source.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { Stat, StorageAdapter } from '../../storage/adapter.ts';
import { FileAnswer, type HandedOverAnswer } from '../file-answer.ts';
import { findItem } from '../item.ts';
import { handOver } from './delivery.ts';
import { isShownInline, safetyHeaders } from './safety.ts';

/** A request for a file itself, not for an action. */
export interface ServingRequest {
  readonly source: Source;
  /** The path below the source, decoded segment by segment. */
  readonly segments: readonly string[];
  /** Without `?`. Only a signature is read from it. */
  readonly query: string;
  readonly signal: AbortSignal;
  /** What the one who asks may do; asked for protected sources. */
  readonly access: () => Promise<Access>;
}

/** What serving needs of its connector. */
export interface ServingServices {
  readonly thumbnails: Thumbnails;
  readonly links: Links;
}

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
  readonly storage: StorageAdapter;
}

const sendStored = async (
  { request: { source, signal }, storage }: Served,
  path: SourcePath,
  stat: Stat,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { settings } = source;
  const contentType = mimeTypeOf(path.name);
  const isInline = isShownInline(contentType);
  const headers = safetyHeaders(settings);
  const disposition = contentDisposition(isInline ? 'inline' : 'attachment', path.name);
  const handover = { settings, storage, path, contentType, disposition, headers, signal };
  return (
    (await handOver(handover)) ??
    new FileAnswer({
      filename: path.name,
      contentType,
      stat,
      isInline,
      headers,
      open: async (range) => (await storage.read(path, { range, ifMatch: stat.etag, signal })).stream,
    })
  );
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

/** The path of the entry whose thumbnail lies here by its link; undefined where no thumbnail lies. */
const entryOfThumbnail = ({ settings }: Source, path: SourcePath): SourcePath | undefined => {
  if (!settings.createThumb || path.parent.name !== settings.thumbFolderName) return undefined;
  return path.parent.parent.child(path.name);
};

/**
 * Refuses who may not have a file: by its signature, or by the rule FILE_DOWNLOAD. The store is not asked before.
 * @throws AccessDeniedError, and whatever says who asks
 */
const requireAllowed = async (
  { source, access, query }: ServingRequest,
  storage: StorageAdapter,
  { links }: ServingServices,
  { served, entry }: { readonly served: SourcePath; readonly entry: SourcePath },
): Promise<void> => {
  const { serve } = source.settings;
  if (serve === 'signed' && !links.isSigned(source, served, query)) throw new AccessDeniedError();
  if (serve !== 'protected') return;
  const given = await access();
  const rules = storage.capabilities.caseSensitive ? given : given.foldingCase();
  rules.require('FILE_DOWNLOAD', entry, extensionOf(entry.name));
};

/**
 * Serves a file, or the thumbnail of an entry, which is made when nobody has asked for it before. What listings hide is not there.
 * @throws NotFoundError, AccessDeniedError, BusyError, errors of the store
 */
export const serveFile = async (
  services: ServingServices,
  request: ServingRequest,
): Promise<FileAnswer | HandedOverAnswer> => {
  const { source, signal } = request;
  const { thumbnails } = services;
  const served = parsePath(request.segments);
  const entryOfThumb = entryOfThumbnail(source, served);
  const entry = entryOfThumb ?? served;
  const storage = await source.storage();
  await requireAllowed(request, storage, services, { served, entry });
  const context: Served = { request, storage };

  const icon = entryOfThumb && thumbnails.iconNamed(source, entry.name);
  if (icon !== undefined) return sendIcon(context, icon, FOREVER);
  const { stat } = await findItem({ source, storage }, entry, signal, 'file');
  if (entryOfThumb !== undefined) {
    const shown = await thumbnails.show(source, entry.parent, stat, signal);
    if (shown.kind === 'icon') return sendIcon(context, shown.svg);
    if (shown.kind === 'stored')
      return sendStored(context, shown.path, await storage.stat(shown.path, { signal }));
  }
  if (stat.kind !== 'file') throw new NotFoundError();
  return sendStored(context, entry, stat);
};
