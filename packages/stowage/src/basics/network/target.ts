import { isIP } from 'node:net';
import { AddressRefusedError, orUndefined, RemoteFailedError } from '../../errors/errors.ts';

const MAX_URL_LENGTH = 8192;

/** The target of a request, parsed once from a URL by the WHATWG rules that browsers use. */
export interface Target {
  readonly url: URL;
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  /** True when the host is an IP address, which needs no resolution. */
  readonly literal: boolean;
}

/** An IPv6 zone identifies a network interface of this machine; URLs that contain one do not parse. */
const ZONED = /^\s*https?:[\\/]*[^\\/?#]*\[[^\]]*%/iu;

const parseUrl = (text: string, base: URL | undefined): URL => {
  if (text.length > MAX_URL_LENGTH) throw new RemoteFailedError('The address is too long.');
  if (ZONED.test(text)) throw new AddressRefusedError();
  try {
    return new URL(text, base);
  } catch (cause) {
    throw new RemoteFailedError({ message: 'The address is not valid.', cause });
  }
};

/**
 * Parses an absolute http or https URL; with `base`, also a relative one, as in a redirect. Drops user name,
 * password and fragment, which are never sent.
 * @throws RemoteFailedError for anything else
 */
export const parseTarget = (text: string, base?: URL): Target => {
  const url = parseUrl(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RemoteFailedError('Only http and https addresses can be fetched.');
  }
  url.username = '';
  url.password = '';
  url.hash = '';
  const hostname = url.hostname.replace(/^\[(.*)\]$/u, '$1');
  return { url, hostname, literal: isIP(hostname) !== 0 };
};

/** Name for a URL without one. */
const NAMELESS = 'downloaded-file';

/**
 * Name for a file from a URL: the decoded last segment of the path, else `downloaded-file`. Not sanitised.
 * @throws RemoteFailedError, AddressRefusedError for an address that is not http or https
 */
export const remoteFileName = (url: string): string => {
  const segment = parseTarget(url).url.pathname.split('/').at(-1) ?? '';
  // With an invalid percent sign, the name is used as written.
  return (orUndefined(() => decodeURIComponent(segment)) ?? segment) || NAMELESS;
};
