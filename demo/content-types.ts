/** Content types of what the demo serves, by extension. Anything else is a plain stream of bytes. */
const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  md: 'text/plain; charset=utf-8',
  ini: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  tif: 'image/tiff',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  ttf: 'font/ttf',
  zip: 'application/zip',
};

/** Types that a browser could run as a script on the page's domain; files of visitors never get them. */
const scripts = new Set(['js', 'mjs', 'css']);

/** Types that a browser could open as a page with scripts of its own. */
const pages = new Set(['html', 'htm', 'xml', 'svg']);

/**
 * Headers that say what a file is, and for files of visitors, that it may not act in the name of this site.
 */
export const contentHeaders = (extension: string, fromVisitors: boolean): Record<string, string> => {
  const known = contentTypes[extension] ?? 'application/octet-stream';
  const headers: Record<string, string> = {
    'content-type': fromVisitors && scripts.has(extension) ? 'text/plain; charset=utf-8' : known,
    'x-content-type-options': 'nosniff',
  };
  if (fromVisitors && pages.has(extension)) headers['content-security-policy'] = 'sandbox';
  return headers;
};
