import type { Readable } from 'node:stream';
import { orAborted, TimeLimit } from '../../basics/concurrency/abort.ts';
import { humanSize } from '../../basics/content/message-values.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { InspectionVerdict } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';
import { InspectionUnavailableError, InternalError, RefusedByInspectionError } from '../../errors/errors.ts';
import { exceedsStreamLimit, scanWithClamd } from './clamd.ts';

/** Content to be stored, as passed to the hook `inspectUpload`. */
export interface InspectedUpload {
  /** Name of the target source. */
  readonly source: string;
  /** The tenant, where the source comes from `resolveSources`. */
  readonly tenant?: string | undefined;
  /** The folder, without a leading slash; `/` at the root. */
  readonly path: string;
  /** The uploaded name, sanitised. The file may still get another one. */
  readonly name: string;
  /** Media type by the extension. */
  readonly mime: string;
  readonly bytes: number;
  readonly role: string;
  /** The user, where `checkAuthentication` names one. */
  readonly subject?: string | undefined;
  /** Opens the uploaded content from its start; may be called repeatedly. The streams end with the hook. */
  readonly open: () => Readable;
}

/** The hook `inspectUpload`: a returned text is the reason for rejecting the content. */
export type InspectUpload = (
  upload: InspectedUpload,
) => string | null | undefined | void | Promise<string | null | undefined | void>;

type InspectionSettings = Pick<Settings, 'inspection'>;

/** Maximum length of the reason that the client gets. */
const MOST_REASON_LENGTH = 1000;

const rejection = ({ name }: InspectedUpload, reason: string): RefusedByInspectionError => {
  const text = reason.trim().slice(0, MOST_REASON_LENGTH);
  return new RefusedByInspectionError({ details: { name, ...(text === '' ? {} : { reason: text }) } });
};

/** Scans with clamd, where it is configured. */
const scan = async (
  upload: InspectedUpload,
  { inspection }: InspectionSettings,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<InspectionVerdict | undefined> => {
  if (inspection === undefined || inspection.clamd === false) return undefined;
  const { clamd: address, maxBytes, larger, failClosed, timeout } = inspection;
  const { source, path, name, bytes } = upload;
  const skipped = (reason: 'larger' | 'unavailable', error?: unknown): InspectionVerdict => {
    log.warn('A file is stored without inspection.', { source, path, name, bytes, reason, error });
    return { verdict: 'skipped', reason };
  };
  const tooLarge = (limits: { readonly limit?: string } = {}): InspectionVerdict => {
    if (larger === 'pass') return skipped('larger');
    const message = 'The file is too large to be inspected.';
    throw new RefusedByInspectionError({ message, details: { name, ...limits } });
  };
  if (bytes > maxBytes) return tooLarge({ limit: humanSize(maxBytes) });
  const limit = new TimeLimit(timeout * 1000, signal);
  const options = { address, signal: limit.signal };
  try {
    const signature = await scanWithClamd(upload.open(), options);
    if (signature !== undefined) throw rejection(upload, signature);
    return { verdict: 'clean' };
  } catch (error) {
    if (!(error instanceof InspectionUnavailableError)) throw error;
    // Otherwise padding would take any file past a clamd that is only missed if it is away (`failClosed: false`).
    if (await exceedsStreamLimit(bytes, options)) {
      log.warn('clamd takes less than inspection.maxBytes: raise its StreamMaxLength.', { bytes, maxBytes });
      return tooLarge();
    }
    signal.throwIfAborted();
    if (failClosed) {
      error.addDetails({ name });
      throw error;
    }
    return skipped('unavailable', error);
  } finally {
    limit.dispose();
  }
};

/** Calls the hook of the host. Streams that it has opened end with the hook, and with the request. */
const askHost = async (
  upload: InspectedUpload,
  hook: (upload: InspectedUpload) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> => {
  const opened: Readable[] = [];
  let isOver = false;
  const open = (): Readable => {
    if (isOver) throw new InternalError({ detail: 'the hook inspectUpload has ended, and opens content' });
    const stream = upload.open();
    // The host may add no error listener, without which a failure would crash the process.
    stream.on('error', () => undefined);
    opened.push(stream);
    return stream;
  };
  try {
    const returned = await orAborted(hook({ ...upload, open }), signal);
    if (typeof returned === 'string') throw rejection(upload, returned);
    if (returned !== undefined && returned !== null)
      throw new InternalError({ detail: 'the hook inspectUpload returned neither a reason nor nothing' });
  } finally {
    isOver = true;
    for (const stream of opened) stream.destroy();
  }
};

const hasClamd = ({ inspection }: InspectionSettings): boolean =>
  inspection !== undefined && inspection.clamd !== false;

/** Inspects content of one connector before it is stored. Without a hook and settings it reads nothing. */
export const createInspector = (
  hook: ((upload: InspectedUpload) => Promise<unknown>) | undefined,
  log: Logger,
) => ({
  /** Whether content of one source (`of`) has passed all inspections of the source it enters (`entering`). */
  covers: (of: InspectionSettings, entering: InspectionSettings): boolean =>
    hasClamd(of) || !hasClamd(entering),
  /**
   * Has content inspected by clamd, if configured, and by the hook of the host. Undefined without both.
   * @throws RefusedByInspectionError; InspectionUnavailableError; errors of the hook; the signal's reason
   */
  inspect: async (
    upload: InspectedUpload,
    settings: InspectionSettings,
    signal: AbortSignal,
  ): Promise<InspectionVerdict | undefined> => {
    try {
      const verdict = await scan(upload, settings, { signal, log });
      if (hook === undefined) return verdict;
      await askHost(upload, hook, signal);
      return verdict ?? { verdict: 'clean' };
    } catch (error) {
      const { source, path, bytes } = upload;
      if (error instanceof RefusedByInspectionError)
        log.warn('A file was refused by inspection.', { source, path, bytes, ...error.details });
      throw error;
    }
  },
});

export type Inspector = ReturnType<typeof createInspector>;
