import { contentDisposition } from '../../basics/content/file-name.ts';
import { mimeTypeOf } from '../../basics/content/file-type.ts';
import {
  AccessDeniedError,
  NotFoundError,
  StowageError,
  UnsafeNameError,
  UnsafePathError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { Thumbnails } from '../../pictures/kept/thumbnails.ts';
import type { Source } from '../../sources/source.ts';
import type { Stat } from '../../storage/entry.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { Item, ViewedFile } from '../../view/folder-view.ts';
import type { Links } from '../../view/links.ts';
import { presentOf } from '../../view/moved.ts';
import { FILE_KEYS, VARIANT_KEYS } from '../../view/rights.ts';
import type { ReadResult, SourceView } from '../../view/source-view.ts';
import type { SourceViews } from '../../view/source-views.ts';
import { answerOfBytes, FileAnswer, HandedOverAnswer } from '../file-answer.ts';
import { entryShownBy, type ShownEntry } from '../public-files.ts';
import { handOver, isShownInline, safetyHeaders } from './delivery.ts';

/** A request for a file itself, not for an action. */
export interface ServingRequest {
  /** The source, as the one who asks may see it; of others than protected sources, as everybody may. */
  readonly view: SourceView;
  /**
   * All sources with their addresses, as the one who asks may see them: whom protected ones have asked for a name,
   * else with `isAsking` too.
   */
  readonly viewsFor: (isAsking: boolean) => Promise<SourceViews>;
  /** The path below the source, decoded segment by segment. */
  readonly segments: readonly string[];
  /** Without `?`. Only a signature is read from it. */
  readonly query: string;
  readonly signal: AbortSignal;
  /** A GET without ranges and conditions: the file may be opened without asking for its version first. */
  readonly isPlain: boolean;
}

export interface ServingServices {
  readonly thumbnails: Thumbnails;
  readonly links: Links;
}

/** What the link of an item's thumbnail or variant says; undefined where its source has none. */
export const drawnPath = (
  { source, folder, path }: Item,
  preset: string | undefined,
): SourcePath | undefined => {
  const { createThumb, thumbFolderName, imagePresets } = source.settings;
  const thumbs = folder.below(thumbFolderName);
  if (preset === undefined) return createThumb ? thumbs.below(path.name) : undefined;
  return Object.hasOwn(imagePresets, preset) ? thumbs.below(preset).below(path.name) : undefined;
};

/** The item as the one who asks may see it: those who ask for files of other sources need no name. */
const seenByAsker = async (item: Item, { view, viewsFor }: ServingRequest): Promise<Item | undefined> => {
  if (item.source.settings.serve !== 'protected' || view.source.settings.serve === 'protected') return item;
  try {
    return (await (await viewsFor(true)).of(item.source)).stored(item.path, item.stat);
  } catch (error) {
    // A denied requester learns no more than that the old name is not in use.
    if (error instanceof StowageError && error.status < 500) return undefined;
    throw error;
  }
};

/**
 * Leads from an old link to the present one, in one step, where the source remembers names and the one who asks
 * may read the file there; else undefined. In `signed` sources the old signature has been checked.
 * @throws errors of the stores
 */
export const followMoved = async (
  { links }: { readonly links: Links },
  request: ServingRequest,
  shown: ShownEntry & { readonly isDrawn: boolean },
): Promise<HandedOverAnswer | undefined> => {
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
  return new HandedOverAnswer(308, {
    ...safetyHeaders(source.settings),
    location,
    'cache-control': 'no-cache',
  });
};

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

/** What was found of a file before. */
interface Known {
  readonly stat?: Stat | undefined;
  readonly read?: ReadResult | undefined;
  /** It is sent in place of what could not be made now. */
  readonly isFailure?: true | undefined;
}

/** What is sent in place of something else is not kept for as long as that would be. */
const headersFor = (settings: Source['settings'], { isFailure }: Known): Record<string, string> =>
  safetyHeaders(isFailure === true ? { ...settings, serveCacheControl: undefined } : settings);

/**
 * What opens a file, and the version that it is: with one question to the store where nothing else has to be
 * known before.
 */
const openStored = async (
  file: ViewedFile,
  isPlain: boolean,
  { stat: known, read: opened }: Known,
): Promise<Pick<FileAnswer, 'stat' | 'open'>> => {
  if (opened !== undefined || (isPlain && known === undefined)) {
    const read = opened ?? (await file.open({ bytesUpTo: SMALL_BYTES }));
    return { stat: read.stat, open: () => Promise.resolve(read.bytes ?? read.stream) };
  }
  const stat = known ?? (await file.stat());
  return {
    stat,
    open: async (range) => {
      const read = await file.openSeen(stat, { range, bytesUpTo: SMALL_BYTES });
      return read.bytes ?? read.stream;
    },
  };
};

const sendStored = async (
  { view, isPlain }: ServingRequest,
  file: ViewedFile,
  known: Known = {},
): Promise<FileAnswer | HandedOverAnswer> => {
  const { settings } = view.source;
  const { name } = file.path;
  const contentType = mimeTypeOf(name);
  const isInline = isShownInline(contentType);
  const headers = headersFor(settings, known);
  if (settings.delivery !== 'stream') {
    // The store or the web server in front cannot make what is missing.
    const stat = known.stat ?? (await file.stat());
    const disposition = contentDisposition(isInline ? 'inline' : 'attachment', name);
    const handedOver = await handOver({ settings, file, stat, contentType, disposition, headers });
    if (handedOver !== undefined) return handedOver;
  }
  const opened = await openStored(file, isPlain, known);
  return new FileAnswer({ filename: name, contentType, isInline, headers, ...opened });
};

const sendIcon = (
  { view }: ServingRequest,
  { svg, cacheControl, ...known }: Known & { readonly svg: string; readonly cacheControl?: string },
): FileAnswer => {
  const headers = headersFor(view.source.settings, known);
  return answerOfBytes(Buffer.from(svg), {
    filename: 'icon.svg',
    contentType: 'image/svg+xml',
    isInline: true,
    headers: cacheControl === undefined ? headers : { ...headers, 'cache-control': cacheControl },
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
  const { view, signal, isPlain } = request;
  const { source } = view;
  if (!isDrawn) return asMissing(() => sendStored(request, view.file(entry)));
  const icon = preset === undefined ? thumbnails.iconNamed(source, entry.name) : undefined;
  if (icon !== undefined) return sendIcon(request, { svg: icon, cacheControl: FOREVER });
  const looked = view.look(entry, 'file');
  const stat = looked.then((item) => item.stat);
  const isOpened = isPlain && source.settings.delivery === 'stream';
  const opensUpTo = isOpened ? SMALL_BYTES : undefined;
  const shown = await thumbnails.show(source, entry, stat, { preset, opensUpTo, signal });
  if (shown.kind === 'icon') return sendIcon(request, shown);
  const item = await looked;
  if (shown.kind === 'stored')
    return sendStored(request, item.drawn(shown.path), isOpened ? { read: shown.read } : shown);
  if (item.kind !== 'file') throw new NotFoundError();
  return sendStored(request, item.file, { stat: item.stat, isFailure: shown.isFailure });
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
