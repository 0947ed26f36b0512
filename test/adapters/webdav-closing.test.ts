import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebdavAdapter } from '../../packages/stowage/dist/adapters/remote/webdav/adapter.js';
import { SourcePath } from 'stowage/storage';
import { openDavStore } from '../../tools/test-servers/webdav.ts';

/** What PROPFIND says of a file of this size. */
const described = (path: string, size: number): string => `<?xml version="1.0"?>
  <D:multistatus xmlns:D="DAV:"><D:response><D:href>${path}</D:href><D:propstat>
    <D:prop><D:resourcetype/><D:getcontentlength>${String(size)}</D:getcontentlength></D:prop>
    <D:status>HTTP/1.1 200 OK</D:status>
  </D:propstat></D:response></D:multistatus>`;

const answer = (status: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: ${String(body.length)}\r\n\r\n`),
    Buffer.from(body),
  ]);

/** A server with one file that closes every connection after its answer. */
const startClosing = async (content: Buffer): Promise<Server> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request: Buffer) => {
      const [method, path = ''] = request.toString('latin1').split(' ');
      socket.end(
        method === 'GET'
          ? answer('200 OK', content)
          : answer('207 Multi-Status', described(path, content.length)),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

describe('a WebDAV server that closes while its response is not read', () => {
  const open: { readonly server: Server; readonly adapter: WebdavAdapter }[] = [];

  afterEach(async () => {
    for (const { server, adapter } of open.splice(0)) {
      await adapter.close();
      server.close();
    }
  });

  // Around what the buffers on the way hold: there a client may learn of the end with everything read and
  // nothing passed on.
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('hands over all of %i times 64 KB', async (count) => {
    const content = Buffer.alloc(count * 64 * 1024, 'x');
    const server = await startClosing(content);
    const { port } = server.address() as AddressInfo;
    const adapter = openDavStore({ url: `http://127.0.0.1:${String(port)}/` }, {});
    open.push({ server, adapter });
    const { stream } = await adapter.read(SourcePath.parse('a.zip'));
    // Time for whatever the client makes of the end.
    await pause(100);
    expect((await buffer(stream)).equals(content)).toBe(true);
  });
});
