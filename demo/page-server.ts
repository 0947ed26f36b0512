import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveFile, type Mount } from './static-files.ts';

/** What the page must know to reach the connector. */
export interface PageSettings {
  readonly connectorPort: number;
}

const publicDirectory = fileURLToPath(new URL('./public/', import.meta.url));

const joditDirectory = (): string => {
  const manifest = createRequire(import.meta.url).resolve('jodit/package.json');
  return path.join(path.dirname(manifest), 'es2021');
};

/** The page runs its own scripts and the editor's, nothing else; pictures may come from anywhere. */
const pagePolicy = (settings: PageSettings): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    'img-src http: https: data: blob:',
    'media-src http: https: data: blob:',
    'frame-src http: https:',
    `connect-src 'self' http://*:${String(settings.connectorPort)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

const sendSettings = (settings: PageSettings, response: ServerResponse): void => {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(settings));
};

const answer = async (
  mounts: readonly Mount[],
  settings: () => PageSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const pathname = (request.url ?? '/').split(/[?#]/u, 1)[0];
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (reads && pathname === '/settings.json') return sendSettings(settings(), response);
  if (reads && pathname === '/') {
    request.url = '/page/index.html';
    response.setHeader('content-security-policy', pagePolicy(settings()));
  }
  if (await serveFile(mounts, request, response)) return;
  response.writeHead(404, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  response.end('There is nothing here.\n');
};

/**
 * The web server beside the connector: it serves the demo page, the editor from the installed package, and
 * the files that the connector manages, which is what a web server or CDN does in production.
 * @param directories each managed folder by its name: `/files/<name>/...` shows its files
 * @param settings asked with every request for the page, because the port of the connector is known later
 *   than this server starts
 */
export const createPageServer = (
  directories: Readonly<Record<string, string>>,
  settings: () => PageSettings,
): Server => {
  const managed = Object.entries(directories).map(([name, directory]) => ({
    prefix: `/files/${name}/`,
    directory,
    fromVisitors: true,
  }));
  const mounts: readonly Mount[] = [
    ...managed,
    { prefix: '/page/', directory: publicDirectory, fromVisitors: false },
    { prefix: '/jodit/', directory: joditDirectory(), fromVisitors: false },
  ];
  return createServer((request, response) => {
    answer(mounts, settings, request, response).catch(() => response.destroy());
  });
};
