import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { createApp } from 'stowage';
import { createClient } from 'stowage/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { photo } from '../pictures/pictures.ts';
import { silent } from '../protocol/service.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { hasProftpd, startProftpd } from '../../tools/test-servers/proftpd.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';

const servers = [
  { name: 'SFTP of OpenSSH', adapter: 'sftp', installed: hasSshd, start: () => startSshd() },
  { name: 'SFTP of ProFTPD', adapter: 'sftp', installed: hasProftpd, start: () => startProftpd() },
  { name: 'FTP', adapter: 'ftp', installed: hasProftpd, start: () => startFtp() },
  { name: 'FTPS', adapter: 'ftp', installed: hasProftpd, start: () => startFtp(true) },
] as const;

describe.each(servers)(
  'a service with files on a server of paths ($name)',
  ({ adapter, installed, start }) => {
    it.skipIf(!installed)(
      `uploads, lists, shows, downloads, renames, moves, copies and removes${installed ? '' : ' (not installed)'}`,
      async () => {
        const server = await start();
        onTestFinished(() => server.stop());
        const files = {
          title: 'Files',
          serve: 'public',
          storageAdapter: adapter,
          [adapter]: server.options,
        } as const;
        const app = createApp({ sources: { files } }, {}, { logger: silent });
        onTestFinished(() => app.close());
        const { port } = await app.listen(0, '127.0.0.1');
        const url = `http://127.0.0.1:${String(port)}`;
        const client = createClient({ url });
        const picture = await photo(640, 480);

        await client.folderCreate({ name: 'album' });
        await client.fileUpload({
          path: 'album',
          files: [new File([new Uint8Array(picture)], 'a ü.jpg'), new File(['note'], 'note.txt')],
        });
        expect((await readFile(join(server.data, 'album', 'a ü.jpg'))).equals(picture)).toBe(true);
        const { sources } = await client.files({ path: 'album' });
        const [source] = sources;
        const listed = source?.files.find(({ name }) => name === 'a ü.jpg');
        const base = source?.baseurl ?? '';
        const thumb = await fetch(new URL(`${base}album/${listed?.thumb ?? ''}`, url));
        expect((await sharp(Buffer.from(await thumb.arrayBuffer())).metadata()).width).toBeLessThan(640);

        const part = await fetch(new URL(`${base}album/note.txt`, url), { headers: { range: 'bytes=1-2' } });
        expect([part.status, await part.text()]).toEqual([206, 'ot']);
        await client.fileRename({ path: 'album', name: 'note.txt', newname: 'letter.txt' });
        await client.folderCreate({ name: 'other' });
        await client.fileCopy({ from: 'album/letter.txt', path: 'other' });
        await client.fileMove({ from: 'album/a ü.jpg', path: 'other' });
        await client.folderMove({ from: 'other', path: 'album' });
        expect(await (await client.fileDownload({ path: 'album/other', name: 'letter.txt' })).text()).toBe(
          'note',
        );
        await client.fileRemove({ path: 'album', name: 'letter.txt' });
        const below = await readdir(join(server.data, 'album', 'other'));
        expect(below.filter((name) => !name.startsWith('_')).sort()).toEqual(['a ü.jpg', 'letter.txt']);
        await client.folderRemove({ name: 'album' });
        const left = execFileSync('find', [server.data, '-mindepth', '1']).toString();
        expect(left).toBe('');
      },
    );
  },
);
