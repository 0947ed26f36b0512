const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * Reads a number of bytes: `8mb`, `1.5 GB`, `100kb`, `512b` or plain bytes (`"8388608"`, `8388608`). Units
 * are powers of 1024, in any case. Undefined for anything else.
 */
export const parseByteSize = (value: string | number): number | undefined => {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*$/iu.exec(String(value));
  if (match?.[1] === undefined) return undefined;
  const unit = (match[2] ?? 'b').toLowerCase() as keyof typeof UNITS;
  const bytes = Math.floor(Number(match[1]) * UNITS[unit]);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/**
 * An origin in the form that browsers send: `https://www.example.com`, `http://localhost:3000`,
 * `capacitor://localhost`. Lower case, without the scheme's own port. Undefined for anything else: with a
 * path, a user name, a wildcard, or `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/iu.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  // Schemes outside the web have no origin for the URL standard, yet applications send them.
  return origin === 'null' ? text.toLowerCase() : origin;
};

/**
 * Why a text cannot be a public address, or undefined when it can: an http or https URL, or only its path
 * (`/photos/`), which browsers take from the page's own origin. Links are made by adding a path, so it has no
 * query and no fragment, and they go to every client, so it has no user name and no password.
 */
export const baseurlProblem = (text: string): string | undefined => {
  if (!/^(?:https?:\/\/[^\s/\\]|\/(?![/\\]))[^\s\\]*$/iu.test(text) || !URL.canParse(text, 'http://host')) {
    return 'must be an absolute http or https URL such as https://cdn.example.com/files/, or a path such as /files/';
  }
  const url = new URL(text, 'http://host');
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return /[?#]/u.test(text) ? 'must not hold a query or a fragment' : undefined;
};

/** The address with the slash that paths are added to. */
export const withSlash = (baseurl: string): string => (baseurl.endsWith('/') ? baseurl : `${baseurl}/`);
