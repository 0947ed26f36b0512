import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe } from 'vitest';
import { login, programs, startApache, type DavServer } from '../../tools/test-servers/webdav.ts';
import { chromium, needsChromium } from './chromium.ts';
import { useClient } from './client.ts';
import { describeWholeJob, firstFiles } from './whole-job.ts';

const needsApache = programs.apache ? '' : ' [left out: install the Debian package apache2]';

/** Everybody may read, as the browser does; whoever else asks has to say who they are. */
const openToReaders = `<Location /dav>
<Limit GET HEAD>
Require all granted
</Limit>
<LimitExcept GET HEAD>
Require valid-user
</LimitExcept>
</Location>`;

const pathsBelow = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => {
    const name = path.relative(folder, path.join(entry.parentPath, entry.name));
    return entry.isDirectory() ? `${name}/` : name;
  });
};

describe.skipIf(chromium === undefined || !programs.apache)(
  `The real client on a source on WebDAV${needsChromium}${needsApache}`,
  () => {
    let server: DavServer | undefined;

    const client = useClient({
      stock: true,
      config: async () => {
        server = await startApache('basic', openToReaders);
        const { url } = server;
        const headers = {
          authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`,
        };
        await fetch(`${url}trip/`, { method: 'MKCOL', headers });
        for (const [name, content] of Object.entries(await firstFiles())) {
          const body = new Uint8Array(content);
          await fetch(`${url}${encodeURI(name)}`, { method: 'PUT', headers, body });
        }
        const webdav = { url, ...login };
        return { sources: { photos: { title: 'Photos', baseurl: url, storageAdapter: 'webdav', webdav } } };
      },
    });
    afterAll(() => server?.stop());

    describeWholeJob(client, () => ({
      baseurl: server?.url ?? '',
      paths: async () => (await pathsBelow(server?.data ?? '')).filter((name) => !name.includes('_thumbs')),
    }));
  },
);
