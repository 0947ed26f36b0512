import type { Readable } from 'node:stream';
import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { Background } from '../../basics/concurrency/background.ts';
import { createSlots } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { BusyError, InternalError } from '../../errors/errors.ts';
import { type About, aboutSchema, plainText } from '../../storage/about/about.ts';

/** A stored picture, as the hook `describePicture` sees it. */
export interface DescribedPicture {
  /** Name of its source. */
  readonly source: string;
  /** Of the tenant, where `resolveSources` has given the source. */
  readonly tenant?: string | undefined;
  /** Its folder, without a leading slash; `/` at the root. */
  readonly path: string;
  readonly name: string;
  /** Media type by the extension. */
  readonly mime: string;
  readonly bytes: number | undefined;
  /** What is said about it already: that stays, whatever the hook returns. */
  readonly about: About;
  /** The content from its start; any number of times. The streams end with the hook. */
  readonly open: () => Promise<Readable>;
  /** Aborts when the hook has taken too long, and when the service stops. */
  readonly signal: AbortSignal;
}

/** What may be said about a picture; empty texts and null say nothing. */
export type PictureWords = { readonly [Field in keyof About]?: About[Field] | null };

/** The hook `describePicture`. */
export type DescribePicture = (
  picture: DescribedPicture,
) => PictureWords | null | undefined | void | Promise<PictureWords | null | undefined | void>;

/** Has the host describe pictures. */
export interface Describer {
  /**
   * What the host says about a picture, checked.
   * @throws what the hook throws; InternalError for what is no description; the signal's reason
   */
  ask(picture: Omit<DescribedPicture, 'signal'>, signal: AbortSignal): Promise<About>;
  /**
   * Does it in the background, its failures logged: what is left out then, `stowage describe` does later.
   * @param picture of which source, for the log; sources take turns
   * @param hold keeps the source open meanwhile, and returns the way to give it back
   */
  later(
    picture: { readonly source: string; readonly tenant: string | undefined; readonly path: string },
    hold: () => () => void,
    work: (signal: AbortSignal) => Promise<unknown>,
  ): void;
  /** Aborts what runs and drops what waits; resolves when it has ended. */
  close(): Promise<void>;
}

/** Pictures that are described at the same time; and that may wait, of one source and of all. */
export const DESCRIBED_AT_ONCE = 2;
const OF_ONE_MAY_WAIT = 1000;
const MAY_WAIT = 8 * OF_ONE_MAY_WAIT;
/** For one picture. */
const TIME_MS = 60_000;

const tidied = (value: unknown): unknown => {
  if (typeof value === 'string') return plainText(value).trim() || undefined;
  if (!Array.isArray(value)) return value ?? undefined;
  const all = new Set(value.map(tidied).filter((one) => one !== undefined));
  return all.size === 0 ? undefined : [...all];
};

/** @throws InternalError that names the fields which are not as they must be */
const wordsFrom = (answer: unknown): About => {
  if (answer === undefined || answer === null) return {};
  const isObject = typeof answer === 'object' && !Array.isArray(answer);
  const words = isObject
    ? Object.fromEntries(Object.entries(answer).map(([field, value]) => [field, tidied(value)]))
    : answer;
  const read = aboutSchema.strict().safeParse(words);
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
    // The host may not listen: a failure without a listener would end the process.
    stream.on('error', () => undefined);
    opened.push(stream);
    if (isOver) stream.destroy();
    return stream;
  };
  try {
    const answer = (async () => hook({ ...picture, open, signal }))();
    return wordsFrom(await orAborted(answer, signal));
  } finally {
    isOver = true;
    for (const stream of opened) stream.destroy();
  }
};

export const createDescriber = (hook: DescribePicture, log: Logger): Describer => {
  const slots = createSlots(DESCRIBED_AT_ONCE, MAY_WAIT, { waiting: OF_ONE_MAY_WAIT });
  const background = new Background();

  return {
    ask: (picture, signal) =>
      inTimeLimit(
        TIME_MS,
        signal,
        (limit) => askHost(hook, picture, limit),
        () => new InternalError({ detail: 'the hook describePicture has taken too long' }),
      ),
    later: (picture, hold, work) => {
      const inTurn = async (signal: AbortSignal): Promise<void> => {
        const release = await slots.take(signal, `${picture.tenant ?? ''}/${picture.source}`);
        try {
          signal.throwIfAborted();
          await work(signal);
        } finally {
          release();
        }
      };
      const failed = (error: unknown): void => {
        const why = error instanceof BusyError ? 'too many others wait' : 'it failed';
        log.warn(`A picture was not described: ${why}. stowage describe does it later.`, {
          ...picture,
          error,
        });
      };
      void background.run(hold, inTurn, failed);
    },
    close: () => background.close(),
  };
};
