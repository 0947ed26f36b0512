import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourcePath } from 'stowage/storage';
import {
  login,
  openDavStore,
  programs,
  startApache,
  type DavServer,
} from '../../tools/test-servers/webdav.ts';

/** Longer than the server may be silent. */
const PAUSE_MS = 2500;

async function* slowly(parts: readonly string[]): AsyncGenerator<Buffer> {
  for (const part of parts) {
    yield Buffer.from(part);
    await pause(PAUSE_MS);
  }
}

describe.skipIf(!programs.apache)(
  `content that takes longer than the server may${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    let server: DavServer;
    beforeAll(async () => {
      server = await startApache('basic');
    });
    afterAll(() => server?.stop());

    it('is no fault of the server', async () => {
      const adapter = openDavStore(server, { ...login, timeout: 1 });
      const parts = ['one ', 'two'];
      const size = parts.join('').length;
      await adapter.write(SourcePath.parse('slow.txt'), Readable.from(slowly(parts), { objectMode: false }), {
        size,
      });
      expect(await readFile(join(server.data, 'slow.txt'), 'utf8')).toBe('one two');
      await adapter.close();
    });
  },
);
