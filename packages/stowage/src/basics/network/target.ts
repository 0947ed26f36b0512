import { isIP } from 'node:net';
import { AddressRefusedError, RemoteFailedError } from '../../errors/errors.ts';

const MAX_URL_LENGTH = 8192;

/** Where a request goes, read once from a URL by the WHATWG rules that browsers use. */
export interface Target {
  readonly url: URL;
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  /** True when the host is an IP address, so that no name is looked up. */
  readonly literal: boolean;
}

/** An IPv6 address with a zone names a network interface of this machine; URLs that hold one do not parse. */
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
 * Reads an absolute http or https URL; with `base`, also a relative one, as in a redirect. User name,
 * password and fragment are dropped: they are never sent.
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

/** The name where a URL has none. */
const NAMELESS = 'downloaded-file';

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A lone percent sign: the name is what it says.
    return segment;
  }
};

/**
 * What a file at a URL is called: the decoded last segment of the path, `downloaded-file` without one. Not
 * sanitised.
 * @throws RemoteFailedError, AddressRefusedError for what is not an http or https address
 */
export const remoteFileName = (url: string): string => {
  const segment = parseTarget(url).url.pathname.split('/').at(-1) ?? '';
  return decoded(segment) || NAMELESS;
};
