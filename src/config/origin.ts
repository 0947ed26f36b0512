/**
 * An origin in the form that browsers send: `https://www.example.com`, `http://localhost:3000`, `capacitor://localhost`. Lower case,
 * without the scheme's own port. Undefined for anything else: with a path, a user name, a wildcard, or `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/iu.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  // Schemes outside the web have no origin for the URL standard, yet applications send them.
  return origin === 'null' ? text.toLowerCase() : origin;
};
