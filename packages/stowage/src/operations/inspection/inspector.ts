import type { Readable } from 'node:stream';
import { orAborted } from '../../basics/concurrency/abort.ts';
import { humanSize } from '../../basics/content/human-size.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { InspectionVerdict } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';
import { InspectionUnavailableError, InternalError, RefusedByInspectionError } from '../../errors/errors.ts';
import { scanWithClamd } from './clamd.ts';

/** Content that is about to be stored, as the hook `inspectUpload` sees it. */
export interface InspectedUpload {
  /** Name of the source that it goes into. */
  readonly source: string;
  /** Of the tenant, where `resolveSources` has given the source. */
  readonly tenant?: string | undefined;
  /** The folder, without a leading slash; `/` at the root. */
  readonly path: string;
  /** As it was sent, made safe. The file may still get another one. */
  readonly name: string;
  /** Media type by the extension. */
  readonly mime: string;
  readonly bytes: number;
  readonly role: string;
  /** The user, as far as `checkAuthentication` says. */
  readonly subject?: string | undefined;
  /** The content from its start, as it was sent; any number of times. The streams end with the hook. */
  readonly open: () => Readable;
}

/** The hook `inspectUpload`: a text is the reason for which the content is refused. */
export type InspectUpload = (
  upload: InspectedUpload,
) => string | null | undefined | void | Promise<string | null | undefined | void>;

/** Inspects content before it is stored. */
export interface Inspector {
  /**
   * Whether content of a source has passed all inspections of a source with these settings.
   */
  covers(of: InspectionSettings, entering: InspectionSettings): boolean;
  /**
   * Has content inspected by clamd, where the settings name one, and by the hook of the host. Undefined: neither is
   * there.
   * @throws RefusedByInspectionError; InspectionUnavailableError; what the hook throws; the signal's reason
   */
  inspect(
    upload: InspectedUpload,
    settings: InspectionSettings,
    signal: AbortSignal,
  ): Promise<InspectionVerdict | undefined>;
}

type InspectionSettings = Pick<Settings, 'inspection'>;

/** The reason for which content is refused, as the client reads it. */
const MOST_REASON_LENGTH = 1000;

const refuse = ({ name }: InspectedUpload, reason: string): RefusedByInspectionError => {
  const text = reason.trim().slice(0, MOST_REASON_LENGTH);
  return new RefusedByInspectionError({ details: { name, ...(text === '' ? {} : { reason: text }) } });
};

/** Asks clamd, as far as the settings want. */
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
  if (bytes > maxBytes) {
    if (larger === 'pass') return skipped('larger');
    const message = 'The file is too large to be inspected.';
    throw new RefusedByInspectionError({ message, details: { name, limit: humanSize(maxBytes) } });
  }
  try {
    const signature = await scanWithClamd(upload.open(), { address, timeoutMs: timeout * 1000, signal });
    if (signature !== undefined) throw refuse(upload, signature);
    return { verdict: 'clean' };
  } catch (error) {
    if (failClosed || !(error instanceof InspectionUnavailableError)) throw error;
    return skipped('unavailable', error);
  }
};

/** Asks the host. Streams that it has opened end with its answer, and with the request. */
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
    // The host may not listen: a failure without a listener would end the process.
    stream.on('error', () => undefined);
    opened.push(stream);
    return stream;
  };
  try {
    const answer = await orAborted(hook({ ...upload, open }), signal);
    if (typeof answer === 'string') throw refuse(upload, answer);
    if (answer !== undefined && answer !== null)
      throw new InternalError({ detail: 'the hook inspectUpload returned neither a reason nor nothing' });
  } finally {
    isOver = true;
    for (const stream of opened) stream.destroy();
  }
};

const hasClamd = ({ inspection }: InspectionSettings): boolean =>
  inspection !== undefined && inspection.clamd !== false;

/** The inspector of one connector. Without a hook and settings nothing is read. */
export const createInspector = (
  hook: ((upload: InspectedUpload) => Promise<unknown>) | undefined,
  log: Logger,
): Inspector => ({
  covers: (of, entering) => hasClamd(of) || !hasClamd(entering),
  inspect: async (upload, settings, signal) => {
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
