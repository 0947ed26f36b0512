import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { contentHeaders } from './content-types.ts';

/** A directory that is served below a URL prefix. */
export interface Mount {
  /** Starts and ends with a slash: `/files/`. */
  readonly prefix: string;
  readonly directory: string;
  /**
   * Anyone can put files there: they are served so that they cannot act on this site, and other origins may
   * read them.
   */
  readonly fromVisitors: boolean;
}

type Refusal = 400 | 403 | 404 | 405;

/** One part of a path that stays where it is: decoded, visible, without separators and control characters. */
const unsafe = /^\.|[/\\\u0000-\u001f\u007f]/u;

/** The parts of the path below the prefix, or why they are refused. The URL is decoded once, part by part. */
const partsOf = (url: string, prefix: string): readonly string[] | Refusal => {
  const pathname = url.split(/[?#]/u, 1)[0] ?? '';
  try {
    const parts = pathname.slice(prefix.length).split('/').map(decodeURIComponent);
    return parts.some((part) => part === '' || unsafe.test(part)) ? 404 : parts;
  } catch {
    return 400;
  }
};

/**
 * Opens a file inside the directory; a symbolic link, wherever it sits in the path, does not lead out of it.
 */
const openInside = async (directory: string, parts: readonly string[]): Promise<FileHandle | undefined> => {
  const root = await realpath(directory);
  const real = await realpath(path.join(root, ...parts));
  if (!real.startsWith(root + path.sep)) return undefined;
  return open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
};

const refuse = (response: ServerResponse, status: Refusal): void => {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
  response.end(`${String(status)}\n`);
};

const sendFile = async (
  file: FileHandle,
  name: string,
  mount: Mount,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const stat = await file.stat();
  if (!stat.isFile()) return refuse(response, 404);
  const etag = `"${stat.size.toString(36)}-${stat.mtimeMs.toString(36)}"`;
  response.setHeaders(
    new Map(Object.entries(contentHeaders(path.extname(name).slice(1).toLowerCase(), mount.fromVisitors))),
  );
  response.setHeader('etag', etag);
  response.setHeader('last-modified', stat.mtime.toUTCString());
  // A picture keeps its URL when it is edited, so every use asks whether it is still the same.
  response.setHeader('cache-control', 'no-cache');
  if (mount.fromVisitors) response.setHeader('access-control-allow-origin', '*');
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { 'content-length': stat.size });
  if (request.method === 'HEAD' || stat.size === 0) {
    response.end();
    return;
  }
  await pipeline(file.createReadStream({ autoClose: false, end: stat.size - 1 }), response);
};

const isAbsent = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EISDIR', 'ENXIO'].includes(String(error.code));

/**
 * Answers a request for a file of one of the mounts. Folders, hidden files, links that lead away and
 * everything that is not a regular file are 404. Resolves when the answer is sent, or the client gone.
 * @returns false when no mount has this prefix, and nothing was answered
 */
export const serveFile = async (
  mounts: readonly Mount[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> => {
  const url = request.url ?? '';
  const mount = mounts.find(({ prefix }) => url.startsWith(prefix));
  if (mount === undefined) return false;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    refuse(response, 405);
    return true;
  }
  const parts = partsOf(url, mount.prefix);
  if (typeof parts === 'number') {
    refuse(response, parts);
    return true;
  }
  let file: FileHandle | undefined;
  try {
    file = await openInside(mount.directory, parts);
    if (file === undefined) refuse(response, 404);
    else await sendFile(file, parts.at(-1) ?? '', mount, request, response);
  } catch (error) {
    if (!response.headersSent) refuse(response, isAbsent(error) ? 404 : 403);
    else response.destroy();
  } finally {
    await file?.close();
  }
  return true;
};
