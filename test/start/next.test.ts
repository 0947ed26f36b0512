import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromium, openChromium, needsChromium } from '../client/chromium.ts';
import { seeFirstPicture } from './first-picture.ts';
import { packagesOf, PackedProject, terminal, type RunningProgram } from './packed-project.ts';

const run = promisify(execFile);
const isSlowAllowed = process.env['STOWAGE_SLOW_TESTS'] !== undefined;
const reason = isSlowAllowed
  ? needsChromium
  : ' [left out: installing and building Next.js takes 70 seconds of processor time; set STOWAGE_SLOW_TESTS]';

describe.skipIf(!isSlowAllowed || chromium === undefined)(
  `From an empty folder to a picture: Next.js${reason}`,
  () => {
    let project: PackedProject;
    let program: RunningProgram;
    let browser: Browser;
    let close: () => Promise<void>;

    beforeAll(async () => {
      project = await PackedProject.create(await packagesOf('docs/start/next.md'));
      const { folder } = project;
      await run('npm', ['pkg', 'set', 'type=module'], { cwd: folder });
      // Turbopack follows no links to packages outside of the project, so the files go into the project itself.
      await cp(resolve(import.meta.dirname, '../../examples/start/next'), folder, { recursive: true });
      await writeFile(join(folder, '.env.local'), `SESSION_SECRET=${randomBytes(32).toString('base64')}\n`);
      await run('npx', ['next', 'build'], { cwd: folder, env: terminal() });
      program = await project.start(folder, ['npx', 'next', 'start']);
      ({ browser, close } = await openChromium());
    }, 600_000);

    afterAll(async () => {
      await close();
      await project.remove();
    });

    it('next build && next start', async () => {
      await seeFirstPicture(browser, program, { hasLogin: true });
      const stranger = await fetch(`${program.url}/connector`, { method: 'POST', body: 'action=files' });
      expect(stranger.status).toBe(401);
    }, 120_000);
  },
);
