import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { login, programs, startApache } from '../tools/test-servers/webdav.ts';
import { sendForm } from './form.ts';
import type { Measurement } from './measurement.ts';
import { rise } from './memory.ts';
import { withScratch } from './scratch.ts';
import { drain, withService } from './service.ts';

const SIZE = 2 * 2 ** 30;
const ALLOWED = 100;
const NAME = 'large.zip';

/**
 * An upload of 2 GB to a source on WebDAV (Apache) and a download of it, each in a new process. Skipped
 * without Apache.
 */
export const webdavMemory: Measurement = {
  name: 'webdav-memory',
  run: () =>
    withScratch(async (scratch) => {
      if (!programs.apache) return [];
      const server = await startApache('basic', 'LimitRequestBody 0');
      const source = {
        title: 'Dav',
        baseurl: 'http://127.0.0.1/files/',
        storageAdapter: 'webdav',
        webdav: { url: server.url, ...login },
      };
      const settings = { maxUploadFileSize: '3gb', extensions: ['zip'], sources: { dav: source } };
      const megabyte = randomBytes(2 ** 20);
      try {
        const uploaded = await withService(
          scratch,
          scratch,
          (service) =>
            rise(
              service,
              'upload of 2 GB to WebDAV',
              async () => {
                await sendForm(`${service.url}/fileUpload`, NAME, megabyte, {
                  times: SIZE / megabyte.length,
                });
                const { size } = await stat(join(server.data, NAME));
                if (size !== SIZE) throw new Error(`${String(size)} bytes arrived`);
              },
              ALLOWED,
            ),
          settings,
        );
        const downloaded = await withService(
          scratch,
          scratch,
          (service) =>
            rise(
              service,
              'download of 2 GB from WebDAV',
              async () => {
                const bytes = await drain(`${service.url}/fileDownload?name=${NAME}`);
                if (bytes !== SIZE) throw new Error(`${String(bytes)} bytes arrived`);
              },
              ALLOWED,
            ),
          settings,
        );
        return [uploaded, downloaded];
      } finally {
        await server.stop();
      }
    }),
};
