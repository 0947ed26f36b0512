import { FileTooLargeError, RemoteFailedError, StowageError } from '../../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import { boundBody, encodingsOf } from './bounded-body.ts';
import { startDeadline, type Deadline } from './deadline.ts';
import type { PinnedAnswer } from './pinned-request.ts';
import type { RemoteFetcher, RemoteFetchOptions, RemoteResource, ResolveHost } from './remote.ts';
import { parseTarget, type Target } from './target.ts';

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** What a fetcher is made of. */
export interface RemoteFetcherParts {
  readonly log: Logger;
  /** Finds the addresses of names; default: the operating system. */
  readonly resolve?: ResolveHost;
  /** The addresses of this machine; default: as the operating system reports them at each fetch. */
  readonly ownAddresses?: () => readonly string[];
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

/** Makes every failure one of ours. The words of the outside stay in `cause`, for the log. */
const explain = (error: unknown, deadline: Deadline): Error => {
  if (error instanceof StowageError) return error;
  if (deadline.signal.aborted && deadline.signal.reason instanceof Error) return deadline.signal.reason;
  return new RemoteFailedError({ cause: error });
};

const late = (): Error => new RemoteFailedError({ detail: 'The time is over.' });

/**
 * Compressed content may be a little larger than what it holds; endless compressed nothing must still end.
 */
const wireLimit = (maxBytes: number): number => Math.ceil(maxBytes * 1.01) + 64 * 1024;

const redirectOf = (answer: PinnedAnswer, target: Target): Target | undefined => {
  if (!REDIRECTS.has(answer.status)) return undefined;
  const location = single(answer.headers['location']);
  if (location === undefined) throw new RemoteFailedError({ detail: 'A redirect without a target.' });
  return parseTarget(location, target.url);
};

const resourceOf = (
  answer: PinnedAnswer,
  options: RemoteFetchOptions,
  deadline: Deadline,
): RemoteResource => {
  if (answer.status !== 200) throw new RemoteFailedError({ detail: `The server answered ${answer.status}.` });
  const encodings = encodingsOf(single(answer.headers['content-encoding']));
  const length = single(answer.headers['content-length']);
  const size = length === undefined || encodings.length > 0 ? undefined : Number(length);
  if (size !== undefined && size > options.maxBytes) throw new FileTooLargeError();
  const stream = boundBody(answer.body, {
    maxBytes: options.maxBytes,
    maxWireBytes: wireLimit(options.maxBytes),
    encodings,
    signal: deadline.signal,
    explain: (error) => explain(error, deadline),
    onClose: () => {
      deadline.end();
      answer.close();
    },
  });
  return { stream, contentType: single(answer.headers['content-type']), size };
};

/** Makes the door outward. It keeps no connections: each fetch opens and closes its own. */
export const createRemoteFetcher = (parts: RemoteFetcherParts): RemoteFetcher => {
  const ask = async (
    target: Target,
    options: RemoteFetchOptions,
    deadline: Deadline,
  ): Promise<PinnedAnswer> => {
    // TLS and the kinds of addresses are loaded with the first fetch: a service starts without them.
    const { checkedAddresses } = await import('./checked-addresses.ts');
    const { requestPinned } = await import('./pinned-request.ts');
    return requestPinned(target, {
      addresses: await deadline.race(checkedAddresses(target, parts, options.allowPrivate === true)),
      accept: options.accept ?? '*/*',
      signal: deadline.signal,
    });
  };

  const follow = async (url: string, options: RemoteFetchOptions, deadline: Deadline) => {
    let target = parseTarget(url);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const answer = await ask(target, options, deadline);
      try {
        const next = redirectOf(answer, target);
        if (next === undefined) return resourceOf(answer, options, deadline);
        answer.close();
        target = next;
      } catch (error) {
        answer.close();
        throw error;
      }
    }
    throw new RemoteFailedError({ detail: 'Too many redirects.' });
  };

  return {
    fetch: async (url, options) => {
      const deadline = startDeadline(options.timeoutMs, options.signal, late);
      try {
        return await follow(url, options, deadline);
      } catch (error) {
        deadline.end();
        const reason = explain(error, deadline);
        parts.log.debug('A remote fetch failed.', { reason });
        throw reason;
      }
    },
  };
};
