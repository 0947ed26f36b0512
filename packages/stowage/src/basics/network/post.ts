import { startDeadline } from './deadline.ts';
import { RemoteFailedError } from '../../errors/errors.ts';
import { parseTarget } from './target.ts';

/** What is posted, and its bounds. */
export interface PostOptions {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the headers of the answer. */
  readonly timeoutMs: number;
  /** Lifts the check of addresses. */
  readonly allowPrivate: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Sends something to addresses of the configuration. */
export interface RemotePoster {
  /**
   * Posts over http or https and gives the status of the answer, whose body is not read. Redirects are not
   * followed. Addresses are checked as `RemoteFetcher.fetch` checks them.
   * @throws AddressRefusedError, RemoteFailedError
   */
  post(url: string, options: PostOptions): Promise<number>;
}

/** The other direction of the door outward. It keeps no connections. */
export const createRemotePoster = (): RemotePoster => ({
  post: async (url, { body, headers, timeoutMs, allowPrivate, signal }) => {
    const late = (): Error => new RemoteFailedError({ detail: 'The time is over.' });
    const deadline = startDeadline(timeoutMs, signal, late);
    try {
      const target = parseTarget(url);
      const { checkedAddresses } = await import('./checked-addresses.ts');
      const { requestPinned } = await import('./pinned-request.ts');
      const answer = await requestPinned(target, {
        addresses: await deadline.race(checkedAddresses(target, {}, allowPrivate)),
        accept: '*/*',
        signal: deadline.signal,
        post: { body, headers },
      });
      answer.close();
      return answer.status;
    } finally {
      deadline.end();
    }
  },
});
