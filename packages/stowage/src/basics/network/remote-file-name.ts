import { parseTarget } from './target.ts';

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
