import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { ServiceDefinition } from '../app.ts';
import type { Address } from '../config/environment.ts';
import { HttpError } from '../errors/errors.ts';
import type { HookRequest } from '../http/message.ts';
import { StartError, urlOf } from './serve.ts';

/** Whether an origin is a page of this machine, on whatever port. */
const isLocalOrigin = (origin: string): boolean =>
  URL.canParse(origin) &&
  /^(?:(?:[\w-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u.test(new URL(origin).hostname);

/**
 * Refuses requests for another host than this machine: a page of any site may have a name of its own that
 * leads here, and its requests look as if they came from a page of the service.
 */
const refuseOtherHosts = ({ headers }: HookRequest): undefined => {
  if (!isLocalOrigin(`http://${headers['host'] ?? headers[':authority'] ?? ''}`))
    throw new HttpError(403, 'This service answers to localhost only. Use --host to serve others.');
  return undefined;
};

const WILDCARDS = ['0.0.0.0', '::'];

/**
 * The service of `stowage serve FOLDER`: one source, named after the folder, whose files everybody may see.
 * Pages of this machine may use it, because the page that is being developed has another port.
 * @throws StartError when there is no such folder.
 */
export const defineFolder = async (folder: string, address: Address): Promise<ServiceDefinition> => {
  const root = resolve(folder);
  const stats = await stat(root).catch(() => undefined);
  if (stats?.isDirectory() !== true) throw new StartError(`There is no folder ${root}.`);
  const name = basename(root) || 'files';
  // Pages on another port need whole links. A free port, or all addresses, do not make a link: then paths are
  // given.
  const isLocal = isLocalOrigin(urlOf(address));
  const isKnown = address.port !== 0 && !WILDCARDS.includes(address.host);
  return {
    config: {
      sources: { [name]: { title: name, root, serve: 'public' } },
      allowCrossOrigin: true,
      allowedOrigins: [],
      refuseCrossSite: true,
      ...(isKnown ? { publicUrl: urlOf(address) } : {}),
    },
    hooks: { allowedOrigins: isLocalOrigin, ...(isLocal ? { resolveSources: refuseOtherHosts } : {}) },
  };
};

/** What to do next, for the person who has started it. */
export const hintFor = (folder: string, url: string): string => `Serving ${resolve(folder)} at ${url}
An editor of a page on this machine shows and uploads its files with:

  Jodit.make('#editor', {
    filebrowser: { ajax: { url: '${url}', method: 'POST' } },
    uploader: { url: '${url}', data: { action: 'fileUpload' } },
  });

Stop it with Ctrl+C.`;
