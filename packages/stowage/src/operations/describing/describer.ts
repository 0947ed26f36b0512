import type { Readable } from 'node:stream';
import { Background, inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { createSlots, inSlot } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { BusyError, InternalError } from '../../errors/errors.ts';
import { type About, aboutSchema, plainText } from '../../storage/about/about.ts';

/** A stored picture, as passed to the hook `describePicture`. */
export interface DescribedPicture {
  readonly source: string;
  /** The tenant, where the source comes from `resolveSources`. */
  readonly tenant?: string | undefined;
  /** Its folder, without a leading slash; `/` at the root. */
  readonly path: string;
  readonly name: string;
  /** Media type by the extension. */
  readonly mime: string;
  readonly bytes: number | undefined;
  /** Its existing description, which stays, whatever the hook returns. */
  readonly about: About;
  /** Opens the content from its start; may be called repeatedly. The streams end with the hook. */
  readonly open: () => Promise<Readable>;
  /** Aborts when the hook takes too long, and when the service stops. */
  readonly signal: AbortSignal;
}

/** The description of a picture; empty texts and null are ignored. */
export type PictureWords = { readonly [Field in keyof About]?: About[Field] | null };

export type DescribePicture = (
  picture: DescribedPicture,
) => PictureWords | null | undefined | void | Promise<PictureWords | null | undefined | void>;

/** Concurrent descriptions; maximum waiting ones for one source, and for all. */
export const DESCRIBED_AT_ONCE = 2;
const OF_ONE_MAY_WAIT = 1000;
const MAY_WAIT = 8 * OF_ONE_MAY_WAIT;
/** Time limit for one picture. */
const TIME_MS = 60_000;

const tidied = (value: unknown): unknown => {
  if (typeof value === 'string') return plainText(value).trim() || undefined;
  if (!Array.isArray(value)) return value ?? undefined;
  const all = new Set(value.map(tidied).filter((one) => one !== undefined));
  return all.size === 0 ? undefined : [...all];
};

/** @throws InternalError that names the invalid fields */
const aboutFrom = (returned: unknown): About => {
  if (returned === undefined || returned === null) return {};
  const isObject = typeof returned === 'object' && !Array.isArray(returned);
  const about = isObject
    ? Object.fromEntries(Object.entries(returned).map(([field, value]) => [field, tidied(value)]))
    : returned;
  const read = aboutSchema.strict().safeParse(about);
  if (read.success) return read.data;
  const fields = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.') || 'no object'],
  );
  const detail = `the hook describePicture returned what is no description: ${fields.join(', ')}`;
  throw new InternalError({ detail });
};

const askHost = async (
  hook: DescribePicture,
  picture: Omit<DescribedPicture, 'signal'>,
  signal: AbortSignal,
): Promise<About> => {
  const opened: Readable[] = [];
  let isOver = false;
  const open = async (): Promise<Readable> => {
    const stream = await picture.open();
    // The host may add no error listener, without which a failure would crash the process.
    stream.on('error', () => undefined);
    opened.push(stream);
    if (isOver) stream.destroy();
    return stream;
  };
  try {
    const returned = (async () => hook({ ...picture, open, signal }))();
    return aboutFrom(await orAborted(returned, signal));
  } finally {
    isOver = true;
    for (const stream of opened) stream.destroy();
  }
};

/** Gets descriptions of pictures from the host. */
export const createDescriber = (hook: DescribePicture, log: Logger) => {
  const slots = createSlots(DESCRIBED_AT_ONCE, MAY_WAIT, { waiting: OF_ONE_MAY_WAIT });
  const background = new Background();

  return {
    /** The host's description, validated. @throws errors of the hook; InternalError; the signal's reason */
    ask: (picture: Omit<DescribedPicture, 'signal'>, signal: AbortSignal): Promise<About> =>
      inTimeLimit(
        TIME_MS,
        signal,
        (limit) => askHost(hook, picture, limit),
        () => new InternalError({ detail: 'the hook describePicture has taken too long' }),
      ),
    /**
     * Runs the description in the background. Failures are logged; `stowage describe` fills in skipped
     * pictures later.
     * @param picture its source is for the log and for fairness: sources take turns
     * @param hold keeps the source open meanwhile, and returns the function that releases it
     */
    later: (
      picture: { readonly source: string; readonly tenant: string | undefined; readonly path: string },
      hold: () => () => void,
      work: (signal: AbortSignal) => Promise<unknown>,
    ): void => {
      const inTurn = (signal: AbortSignal): Promise<unknown> =>
        inSlot(slots, signal, `${picture.tenant ?? ''}/${picture.source}`, async () => {
          signal.throwIfAborted();
          await work(signal);
        });
      const failed = (error: unknown): void => {
        const why = error instanceof BusyError ? 'too many others wait' : 'it failed';
        log.warn(`A picture was not described: ${why}. stowage describe does it later.`, {
          ...picture,
          error,
        });
      };
      void background.run(hold, inTurn, failed);
    },
    /** Aborts running descriptions and drops waiting ones; resolves when they have ended. */
    close: (): Promise<void> => background.close(),
  };
};

export type Describer = ReturnType<typeof createDescriber>;
