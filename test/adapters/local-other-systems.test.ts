import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('local-other-systems.mjs', import.meta.url));
const HOOK = ['--import', new URL('local-other-systems-hook.mjs', import.meta.url).href];

describe.skipIf(process.platform !== 'linux')(
  'the local adapter on systems whose calls fail otherwise',
  () => {
    it.each([
      ['Linux without /proc', 'handles'],
      ['Windows with exFAT', 'paths'],
      ['rclone mount', 'handles'],
      ['SMB and Docker Desktop', 'handles'],
      ['sshfs', 'handles'],
      ['macOS', 'paths'],
    ])('keeps its contract: %s', async (system, confinement) => {
      const base = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'stowage-systems-'));
      try {
        const env = { ...process.env, SYSTEM: system, TEMP: base };
        const { stdout } = await run(process.execPath, [...HOOK, SCRIPT, base, confinement], { env });
        expect(JSON.parse(stdout)).toEqual([]);
      } finally {
        await rm(base, { recursive: true, force: true });
      }
    });
  },
);
