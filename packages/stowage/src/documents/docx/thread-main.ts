import { parentPort } from 'node:worker_threads';
import { type ConverterLoader, convertToDocx, DocxLimitError, type DocxPage } from 'stowage-html-docx';
import type { FromThread, LoadedResource, ResourceRequest, ToThread } from './converter-thread.ts';

const readDataUrl = (url: string): Buffer | undefined => {
  const match = /^data:([^,]*),/isu.exec(url);
  if (match === null) return undefined;
  // As in browsers, a `%` without two digits stands for itself, and bytes need not be text.
  const body = url
    .slice(match[0].length)
    .replaceAll(/%([\da-f]{2})/giu, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(body, /;\s*base64\s*$/iu.test(match[1] ?? '') ? 'base64' : 'latin1');
};

/** Handles messages of the service; the thread itself accesses neither network nor disk. */
const serve = (port: NonNullable<typeof parentPort>): void => {
  const waiting = new Map<number, (resource: LoadedResource) => void>();
  let asked = 0;
  const send = (message: FromThread): void => port.postMessage(message);
  const load = (resource: ResourceRequest): Promise<LoadedResource> =>
    new Promise((resolve) => {
      asked += 1;
      waiting.set(asked, resolve);
      send({ type: 'load', id: asked, resource });
    });
  const loader: ConverterLoader = {
    picture: async (url) => {
      const inline = readDataUrl(url);
      // Data URLs may have many megabytes: decoding them in this thread blocks no requests.
      const request: ResourceRequest =
        inline === undefined ? { kind: 'picture', url } : { kind: 'inline', bytes: new Uint8Array(inline) };
      const picture = await load(request);
      return typeof picture === 'object' ? picture : undefined;
    },
    sheet: async (url) => {
      const text = readDataUrl(url)?.toString('utf8') ?? (await load({ kind: 'sheet', url }));
      return typeof text === 'string' ? text : undefined;
    },
  };
  const convert = async (html: string, page: DocxPage): Promise<void> => {
    try {
      send({ type: 'done', bytes: await convertToDocx(html, loader, page) });
    } catch (error) {
      const limit = error instanceof DocxLimitError ? error.message : undefined;
      send({ type: 'failed', limit, detail: error instanceof Error ? (error.stack ?? error.message) : '' });
    } finally {
      waiting.clear();
    }
  };
  port.on('message', (message: ToThread) => {
    if (message.type === 'convert') void convert(message.html, message.page);
    else {
      waiting.get(message.id)?.(message.resource);
      waiting.delete(message.id);
    }
  });
  send({ type: 'ready' });
};

if (parentPort !== null) serve(parentPort);
