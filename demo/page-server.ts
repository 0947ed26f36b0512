import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Router } from 'stowage';

/** What the page must know to reach the connector. */
export interface PageSettings {
  readonly connectorPort: number;
}

/** What stands behind the page. Asked with every request, because the connector starts later than the page. */
export interface Behind {
  readonly connectorPort: number;
  /** Serves `/file/...`. */
  readonly files: Router['handler'] | undefined;
}

const from = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const jodit = path.dirname(createRequire(import.meta.url).resolve('jodit/package.json'));

/** Everything that the page is made of, by its path. */
const parts: Readonly<Record<string, string>> = {
  '/': from('public/index.html'),
  '/page/demo.css': from('public/demo.css'),
  '/page/demo.js': from('public/demo.js'),
  '/page/documents.js': from('public/documents.js'),
  '/page/sign.svg': from('public/sign.svg'),
  '/stowage/jodit.css': from('../packages/browser/dist/jodit.css'),
  '/stowage/jodit.global.js': from('../packages/browser/dist/jodit.global.js'),
  '/jodit/jodit.min.css': path.join(jodit, 'es2021/jodit.min.css'),
  '/jodit/jodit.min.js': path.join(jodit, 'es2021/jodit.min.js'),
};

/** The languages of the picker. */
const texts = from('../packages/browser/dist/texts/');

const partAt = (pathname: string): string | undefined => {
  const [, language] = /^\/stowage\/texts\/([a-z]{2})\.json$/u.exec(pathname) ?? [];
  return language === undefined ? parts[pathname] : `${texts}${language}.json`;
};

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

/** The page runs its own scripts and the editor's, nothing else; pictures may come from anywhere. */
const pagePolicy = (connectorPort: number): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    'img-src http: https: data: blob:',
    'media-src http: https: data: blob:',
    'frame-src http: https:',
    `connect-src 'self' http://*:${String(connectorPort)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

const sendSettings = (connectorPort: number, response: ServerResponse): void => {
  const settings: PageSettings = { connectorPort };
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(settings));
};

const sendNothing = (response: ServerResponse): void => {
  response.writeHead(404, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  response.end('There is nothing here.\n');
};

const sendPart = async (file: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const content = await readFile(file).catch(() => undefined);
  if (content === undefined) return sendNothing(response);
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  response.setHeader('content-type', types[path.extname(file)] ?? 'application/octet-stream');
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', 'no-cache');
  response.setHeader('etag', etag);
  if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
  else response.end(content);
};

const answer = async (behind: Behind, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const pathname = (request.url ?? '/').split(/[?#]/u, 1)[0] ?? '/';
  if (pathname.startsWith('/file/') && behind.files !== undefined) {
    return behind.files(request, response);
  }
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (reads && pathname === '/settings.json') return sendSettings(behind.connectorPort, response);
  const part = partAt(pathname);
  if (reads && part !== undefined) {
    if (pathname === '/') response.setHeader('content-security-policy', pagePolicy(behind.connectorPort));
    return sendPart(part, request, response);
  }
  sendNothing(response);
};

/**
 * The web server beside the connector. It serves the demo page with its editor, and hands requests for files
 * to the connector, so that their addresses need no host.
 */
export const createPageServer = (behind: () => Behind): Server =>
  createServer((request, response) => {
    answer(behind(), request, response).catch(() => response.destroy());
  });
