import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { onlyThemes } from './further-servers.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('local-other-systems.mjs', import.meta.url));
const HOOK = ['--import', new URL('local-other-systems-hook.mjs', import.meta.url).href];

const THEMES = ['list', 'write', 'folders', 'removal', 'copy', 'move', 'stage'];

describe.skipIf(process.platform !== 'linux')(
  'the local adapter on systems whose calls fail otherwise',
  () => {
    // With the themes that use the calls which fail there.
    it.each([
      ['Linux without /proc', 'handles', ['list', 'write', 'removal', 'move']],
      ['Windows with exFAT', 'paths', ['write', 'folders', 'move', 'stage']],
      ['rclone mount', 'handles', ['write', 'folders', 'move']],
      ['SMB and Docker Desktop', 'handles', ['write', 'copy']],
      ['sshfs', 'handles', ['list', 'write', 'folders', 'removal', 'move']],
      ['macOS', 'paths', ['list', 'folders']],
    ])(
      'keeps its contract: %s',
      async (system, confinement, ofSystem) => {
        const base = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'stowage-systems-'));
        try {
          const env = { ...process.env, SYSTEM: system, TEMP: base };
          const themes = THEMES.filter(onlyThemes(ofSystem));
          const { stdout } = await run(process.execPath, [...HOOK, SCRIPT, base, confinement, ...themes], {
            env,
          });
          expect(JSON.parse(stdout)).toEqual([]);
        } finally {
          await rm(base, { recursive: true, force: true });
        }
      },
      120_000,
    );
  },
);
