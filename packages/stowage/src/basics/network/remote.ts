import type { Readable } from 'node:stream';

/** One address of a host name. */
export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Finds every address of a host name. Rejects, or answers none, when it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>;

/** Bounds of one fetch. */
export interface RemoteFetchOptions {
  /** Most bytes of content, counted after decompression. */
  readonly maxBytes: number;
  /** Milliseconds for the whole fetch, redirects and the reading of the stream included. */
  readonly timeoutMs: number;
  /** Lifts the check of addresses, and nothing else. */
  readonly allowPrivate?: boolean;
  /** `Accept` header. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Content that arrives from outside. The caller owns the stream: reads it to its end or destroys it.
 */
export interface RemoteResource {
  /**
   * Fails with FileTooLargeError past `maxBytes`, RemoteFailedError when the transfer breaks or its time is
   * over, and the signal's reason when that aborts.
   */
  readonly stream: Readable;
  /** As the server says, undefined when it does not. */
  readonly contentType: string | undefined;
  /** Bytes, when the server announces them for content that is not compressed. */
  readonly size: number | undefined;
}

/** The only door outward for addresses that users give. */
export interface RemoteFetcher {
  /**
   * Gets a resource over http or https. Every address of every host on the way must be public, and the
   * connection goes to an address that was checked. Errors say nothing of inner hosts.
   * @throws AddressRefusedError for an address that is not public
   * @throws RemoteFailedError for anything else that goes wrong outside: scheme, name, redirects, status,
   *   time
   * @throws FileTooLargeError when the server announces more than `maxBytes`
   */
  fetch(url: string, options: RemoteFetchOptions): Promise<RemoteResource>;
}
