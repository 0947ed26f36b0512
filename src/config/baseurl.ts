import { mustBe } from './problems.ts';

/**
 * Why a text cannot be the public address of a source, or undefined when it can. It must be absolute, http or https; links are
 * made by adding a path, so there is no query and no fragment, and they go to every client, so there is no password.
 */
export const baseurlProblem = (text: string): string | undefined => {
  if (!/^https?:\/\/[^\s/\\][^\s\\]*$/iu.test(text) || !URL.canParse(text)) {
    return mustBe('an absolute http or https URL such as https://cdn.example.com/files/', text);
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return /[?#]/u.test(text) ? 'must not hold a query or a fragment' : undefined;
};

/** The address with the slash that paths are added to. */
export const withSlash = (baseurl: string): string => (baseurl.endsWith('/') ? baseurl : `${baseurl}/`);
