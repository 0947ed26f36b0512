/** The content of a `data:` address; undefined for anything else. */
export const readDataUrl = (url: string): Buffer | undefined => {
  const match = /^data:([^,]*),/isu.exec(url);
  if (match === null) return undefined;
  const body = url.slice(match[0].length);
  if (/;\s*base64\s*$/iu.test(match[1] ?? '')) return Buffer.from(body.replaceAll(/%20|\s/giu, ''), 'base64');
  try {
    return Buffer.from(decodeURIComponent(body));
  } catch {
    return undefined;
  }
};
