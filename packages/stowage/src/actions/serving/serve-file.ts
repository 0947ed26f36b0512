import { contentDisposition } from '../../basics/content/file-name.ts';
import { mimeTypeOf } from '../../basics/content/file-type.ts';
import * as errors from '../../errors/errors.ts';
import type { Thumbnails } from '../../pictures/kept/thumbnails.ts';
import type { Source } from '../../sources/source.ts';
import type { Stat } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Item, ViewedFile } from '../../view/folder-view.ts';
import { presentOf } from '../../view/moved.ts';
import { FILE_KEYS, VARIANT_KEYS } from '../../view/rights.ts';
import type { ReadResult, SourceView } from '../../view/source-view.ts';
import type { SourceViews } from '../../view/source-views.ts';
import type { ActionServices } from '../action.ts';
import { bytesResponse, DelegatedResponse, FileResponse, type FileResponseFields } from '../responses.ts';
import { entryShownBy, pathOfSegments, type ShownEntry } from '../public-files.ts';
import { handOver, isShownInline, safetyHeaders } from './delivery.ts';

/** A request for a file by its link, without an action. */
export interface ServingRequest {
  /** The source with the requester's access; for sources that are not protected, with access for everyone. */
  readonly view: SourceView;
  /** All sources. Access is the requester's if the source is protected or `isAsking`, else everyone's. */
  readonly viewsFor: (isAsking: boolean) => Promise<SourceViews>;
  /** The path below the source, decoded segment by segment. */
  readonly segments: readonly string[];
  /** Without `?`. Only a signature is read from it. */
  readonly query: string;
  readonly signal: AbortSignal;
  /** A GET without ranges and conditions: the file may be opened without a separate stat. */
  readonly isPlain: boolean;
  readonly isHead: boolean;
}

export type ServingServices = Pick<ActionServices, 'thumbnails' | 'links'>;

/** Path in the link of an item's thumbnail or variant; undefined where its source has none. */
export const drawnPath = (
  { source, folder, path }: Item,
  preset: string | undefined,
): SourcePath | undefined => {
  const { createThumb, thumbFolderName, imagePresets } = source.settings;
  const thumbs = folder.below(thumbFolderName);
  if (preset === undefined) return createThumb ? thumbs.below(path.name) : undefined;
  return Object.hasOwn(imagePresets, preset) ? thumbs.below(preset).below(path.name) : undefined;
};

/**
 * The item with the requester's access; undefined when it is denied. Only a redirect from another source into
 * a protected one has to authenticate for this.
 */
const seenByAsker = async (item: Item, { view, viewsFor }: ServingRequest): Promise<Item | undefined> => {
  if (item.source.settings.serve !== 'protected' || view.source.settings.serve === 'protected') return item;
  try {
    return (await (await viewsFor(true)).of(item.source)).stored(item.path, item.stat);
  } catch (error) {
    // A denied requester learns only that the old name is not in use.
    if (error instanceof errors.StowageError && error.status < 500) return undefined;
    throw error;
  }
};

/**
 * Redirects an old link to the current one, in one step, where the source remembers names and the requester
 * may read the file there; else undefined. In `signed` sources the caller has verified the old signature.
 * @throws errors of the stores
 */
export const followMoved = async (
  { links }: Pick<ServingServices, 'links'>,
  request: ServingRequest,
  shown: ShownEntry & { readonly isDrawn: boolean },
): Promise<DelegatedResponse | undefined> => {
  const { view, query, viewsFor } = request;
  const { source } = view;
  const { entry, preset, isDrawn } = shown;
  if (source.settings.redirectMoved === undefined) return undefined;
  const found = await presentOf(await viewsFor(false), view, entry);
  if (found === undefined || !(isDrawn || found.kind === 'file')) return undefined;
  const item = await seenByAsker(found, request);
  const path = isDrawn ? drawnPath(found, preset) : found.path;
  if (path === undefined || item?.opensBy(preset === undefined ? FILE_KEYS : VARIANT_KEYS) !== true)
    return undefined;
  const location = links.instead(item, path, { source, query });
  if (location === undefined) return undefined;
  return new DelegatedResponse(308, {
    ...safetyHeaders(source.settings),
    location,
    'cache-control': 'no-cache',
  });
};

/** Files up to this size are sent from memory: a stream would take longer than its content. */
const SMALL_BYTES = 64 * 1024;

/** The name of an icon contains a hash of its drawing. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Results of earlier reads of a file. */
interface Known {
  readonly stat?: Stat | undefined;
  readonly read?: ReadResult | undefined;
  /** The reason why it replaces a thumbnail or variant. */
  readonly failure?: unknown;
  /** Handles an error of opening it. */
  readonly onError?: ((error: unknown) => Promise<never>) | undefined;
}

/** A replacement is cached for a shorter time than the requested file. */
const headersFor = (settings: Source['settings'], { failure }: Known, contentType?: string) =>
  safetyHeaders(
    failure !== undefined ? { ...settings, serveCacheControl: undefined } : settings,
    contentType,
  );

/** Opens a file, and returns its stat: in one request where the headers do not depend on the stat. */
const openStored = async (
  file: ViewedFile,
  isPlain: boolean,
  { stat: known, read: opened, onError }: Known,
): Promise<Pick<FileResponseFields, 'stat' | 'open'>> => {
  if (opened !== undefined || (isPlain && known === undefined)) {
    const read = opened ?? (await file.open({ bytesUpTo: SMALL_BYTES }));
    return { stat: read.stat, open: () => Promise.resolve(read.bytes ?? read.stream) };
  }
  const stat = known ?? (await file.stat());
  return {
    stat,
    open: async (range) => {
      const opening = file.openSeen(stat, { range, bytesUpTo: SMALL_BYTES });
      const read = await (onError === undefined ? opening : opening.catch(onError));
      return read.bytes ?? read.stream;
    },
  };
};

const sendStored = async (
  { view, query, isPlain, isHead }: ServingRequest,
  file: ViewedFile,
  known: Known = {},
): Promise<FileResponse | DelegatedResponse> => {
  const { settings } = view.source;
  const { name } = file.path;
  const contentType = mimeTypeOf(name);
  const isInline = isShownInline(contentType);
  const headers = headersFor(settings, known, contentType);
  // The URLs of S3 are signed for GET alone.
  const isOwn = settings.delivery === 'stream' || (isHead && settings.delivery === 'redirect');
  if (!isOwn) {
    // The store or the web server in front cannot create missing pictures.
    const stat = known.stat ?? (await file.stat());
    const disposition = contentDisposition(isInline ? 'inline' : 'attachment', name);
    const handedOver = await handOver({ settings, file, stat, query, contentType, disposition, headers });
    if (handedOver !== undefined) return handedOver;
  }
  const opened = await openStored(file, isPlain, known);
  return new FileResponse({ filename: name, contentType, isInline, headers, ...opened });
};

const sendIcon = (
  { view }: ServingRequest,
  { svg, cacheControl, ...known }: Known & { readonly svg: string; readonly cacheControl?: string },
): FileResponse => {
  const headers = headersFor(view.source.settings, known);
  return bytesResponse(Buffer.from(svg), {
    filename: 'icon.svg',
    contentType: 'image/svg+xml',
    isInline: true,
    headers: cacheControl === undefined ? headers : { ...headers, 'cache-control': cacheControl },
  });
};

/** Reports a path that is a folder, or leads through a file, as missing. */
const asMissing = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof errors.WrongKindError) throw new errors.NotFoundError({ cause: error });
    throw error;
  }
};

/**
 * Makes a thumbnail or variant anew that the store denies, as that of another user after a restore,
 * and lets the request start again. @throws ChangedMeanwhileError, or the error itself
 */
export const makingAnew =
  (show: (refusal: errors.StorageDeniedError) => ReturnType<Thumbnails['show']>) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof errors.StorageDeniedError) || (await show(error)).kind !== 'stored') throw error;
    throw new errors.ChangedMeanwhileError({ cause: error });
  };

/** Sends a file, or the thumbnail or variant of an entry. @throws the errors of `serveFile` */
const serveThere = async (
  { thumbnails }: ServingServices,
  request: ServingRequest,
  { entry, preset, isDrawn }: ShownEntry & { readonly isDrawn: boolean },
): Promise<FileResponse | DelegatedResponse> => {
  const { view, signal, isPlain } = request;
  const { source } = view;
  if (!isDrawn) return asMissing(() => sendStored(request, view.file(entry)));
  const icon = preset === undefined ? thumbnails.iconNamed(source, entry.name) : undefined;
  if (icon !== undefined) return sendIcon(request, { svg: icon, cacheControl: FOREVER });
  const looked = view.lookUp(entry, 'file');
  const stat = looked.then((item) => item.stat);
  const isOpened = isPlain && source.settings.delivery === 'stream';
  const opensUpTo = isOpened ? SMALL_BYTES : undefined;
  const options = { preset, signal };
  const shown = await thumbnails.show(source, entry, stat, { ...options, opensUpTo });
  if (shown.kind === 'icon') return sendIcon(request, shown);
  const item = await looked;
  if (shown.kind === 'stored') {
    const onError = makingAnew((refusal) => thumbnails.show(source, entry, stat, { ...options, refusal }));
    return sendStored(request, item.drawn(shown.path), { ...shown, onError });
  }
  if (item.kind !== 'file') throw new errors.NotFoundError();
  return sendStored(request, item.file, { stat: item.stat, failure: shown.failure });
};

/**
 * Serves a file, or the thumbnail or variant of an entry, which is made at its first request. Hidden entries
 * are reported as missing; renamed ones are redirected. Signature and rules are checked before the store is
 * read.
 * @throws NotFoundError, AccessDeniedError, BusyError, errors of the store
 */
export const serveFile = async (
  services: ServingServices,
  request: ServingRequest,
): Promise<FileResponse | DelegatedResponse> => {
  const { view, query } = request;
  const { source } = view;
  const served = pathOfSegments(request.segments);
  if (served === undefined) throw new errors.NotFoundError();
  const shownBy = entryShownBy(source, served);
  const shown = { entry: served, ...shownBy, isDrawn: shownBy !== undefined };
  if (source.settings.serve === 'signed' && services.links.signatureIn(source, served, query) !== 'valid')
    throw new errors.AccessDeniedError();
  view.require(shown.preset === undefined ? FILE_KEYS : VARIANT_KEYS, shown.entry, 'file');
  try {
    return await serveThere(services, request, shown);
  } catch (error) {
    const moved =
      error instanceof errors.NotFoundError ? await followMoved(services, request, shown) : undefined;
    if (moved === undefined) throw error;
    return moved;
  }
};
