import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLineLogger, readBrowser } from '#internals';
import { runsEverything, testInTurns } from '../before-release.ts';
import { startSite } from '../network/loopback.ts';
import { door, jobOf, startDocuments } from './documents.ts';
import { noBrowser } from './pdf-tools.ts';
import { childrenOf, descendantsOf, memoryOf, stillRunning } from './processes.ts';

const missing = noBrowser || (existsSync('/proc/self/stat') ? '' : 'no /proc to look for processes');

/** Machines may be busy with other tests. */
const PATIENT = { timeout: 60_000 };
vi.setConfig({ testTimeout: 120_000 });

const test = testInTurns(2);
const self = process.pid;

/** Signals processes; those of a browser end by themselves when another of them has ended. */
const signal = (processes: readonly number[], name: NodeJS.Signals): void => {
  for (const pid of processes)
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
};

const profiles = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('stowage-browser-'));

/** A page that is kept waiting until `release`; tells when it waits. */
const startSlowSite = async () => {
  const waiting: (() => void)[] = [];
  const site = await startSite((_request, response) => {
    waiting.push(() => response.end());
  });
  onTestFinished(() => site.close());
  const release = (): void => {
    for (const answer of waiting.splice(0)) answer();
  };
  return { html: `<p>slow</p><img src="${site.origin}/a.png">`, waiting, release };
};

describe.skipIf(missing)(`the browser that prints ${missing}`, () => {
  // Other tests print at the same time; what lies here is ours.
  beforeAll(async () => {
    vi.stubEnv('TMPDIR', await mkdtemp(join(tmpdir(), 'stowage-printing-')));
  });
  afterAll(async () => {
    const own = tmpdir();
    vi.unstubAllEnvs();
    await rm(own, { recursive: true, force: true });
  });

  test('is one for many documents, without growing, and is gone after close', async () => {
    const documents = startDocuments();
    await Promise.all(Array.from({ length: 4 }, () => documents.pdf(jobOf('<p>warm</p>'))));
    const [browser] = await childrenOf(self);
    const before = await memoryOf(await descendantsOf(self));
    for (let index = 0; index < (runsEverything ? 15 : 8); index += 1) {
      await documents.pdf(jobOf(`<h1>${index}</h1>${'<p>Some text to print.</p>'.repeat(20)}`));
    }
    expect(await childrenOf(self)).toEqual([browser]);
    expect((await memoryOf(await descendantsOf(self))) - before).toBeLessThan(60 * 1024 * 1024);
    await documents.close();
    expect(await descendantsOf(self)).toEqual([]);
    expect(await profiles()).toEqual([]);
    await expect(documents.pdf(jobOf('late'))).rejects.toMatchObject({ status: 503 });
    expect(await descendantsOf(self)).toEqual([]);
  });

  it.runIf(runsEverything)('is replaced after a number of documents', async () => {
    const documents = startDocuments({ pdfLimits: { documentsPerBrowser: 2 } });
    const browsers = new Set<number | undefined>();
    for (let index = 0; index < 4; index += 1) {
      await documents.pdf(jobOf('<p>text</p>'));
      browsers.add((await childrenOf(self))[0]);
    }
    // Each pair had its own; after the second of a pair there is none.
    expect(browsers.size).toBe(3);
    expect(await descendantsOf(self)).toEqual([]);
  });

  it.runIf(runsEverything)('is replaced when it keeps too much memory', async () => {
    const documents = startDocuments({ pdfLimits: { maxBrowserBytes: 1 } });
    await documents.pdf(jobOf('<p>text</p>'));
    expect(await descendantsOf(self)).toEqual([]);
  });

  test('is started again when it has died, between documents or under one', async () => {
    const documents = startDocuments({ remote: door(true) });
    await documents.pdf(jobOf('<p>text</p>'));
    signal(await descendantsOf(self), 'SIGKILL');
    await expect.poll(() => descendantsOf(self), PATIENT).toEqual([]);
    expect((await documents.pdf(jobOf('<p>text</p>'))).length).toBeGreaterThan(500);

    const slow = await startSlowSite();
    const printing = documents.pdf(jobOf(slow.html));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
    signal(await descendantsOf(self), 'SIGKILL');
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(2);
    slow.release();
    expect((await printing).length).toBeGreaterThan(500);
    await expect.poll(async () => (await childrenOf(self)).length, PATIENT).toBe(1);
  });

  it('knows of the environment only what it needs', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret-of-the-service');
    onTestFinished(() => void vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined));
    await startDocuments().pdf(jobOf('<p>text</p>'));
    const all = await Promise.all(
      (await descendantsOf(self)).map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')),
    );
    expect(all.join()).toContain('PATH=');
    expect(all.join()).not.toContain('a-secret-of-the-service');
  });

  it.runIf(runsEverything).each([
    ['auto', process.getuid?.() === 0],
    ['off', true],
  ] as const)('warns once when it works without a sandbox (%s)', async (browserSandbox, warns) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLineLogger((line) => lines.push(JSON.parse(line) as Record<string, unknown>));
    const documents = startDocuments({
      log,
      browser: { ...readBrowser(), browserSandbox },
      pdfLimits: { documentsPerBrowser: 1 },
    });
    for (const html of ['<p>one</p>', '<p>two</p>']) await documents.pdf(jobOf(html));
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(warns ? 1 : 0);
  });

  it.runIf(process.getuid?.() === 0)('does not start without a sandbox that is required', async () => {
    const documents = startDocuments({ browser: { browserSandbox: 'required' } });
    await expect(documents.pdf(jobOf('<p>text</p>'))).rejects.toMatchObject({ status: 500 });
  });

  test('ends with a process that is killed, and the next one clears away what is left', async () => {
    const script = `
      import { createDocuments } from ${JSON.stringify(fileURLToPath(import.meta.resolve('#internals')))};
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const documents = createDocuments({ remote: { fetch: async () => { throw new Error('no') } }, log });
      const job = { html: 'x', resources: { enabled: false, maxBytes: 1, timeoutMs: 5000 }, signal: new AbortController().signal };
      await documents.pdf(job);
      console.log('printed');
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(createInterface(child.stdout), 'line');
    const processes = await descendantsOf(child.pid ?? 0);
    expect(processes.length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect.poll(() => stillRunning(processes), PATIENT).toEqual([]);
    expect((await profiles()).length).toBe(1);
    const documents = startDocuments();
    await documents.pdf(jobOf('x'));
    await documents.close();
    expect(await profiles()).toEqual([]);
  });
});

describe.skipIf(missing)(`limits of PDF files ${missing}`, () => {
  test('a resource that hangs is left out, and others go on meanwhile', async () => {
    const documents = startDocuments({ remote: door(true) });
    const slow = await startSlowSite();
    const resources = { enabled: true, maxBytes: 1000, timeoutMs: 3000 };
    const hanging = documents.pdf(jobOf(slow.html, { resources }));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
    const order: string[] = [];
    await Promise.all([
      hanging.then(() => order.push('hanging')),
      documents.pdf(jobOf('<p>quick</p>')).then(() => order.push('quick')),
    ]);
    expect(order).toEqual(['quick', 'hanging']);
  });

  it.runIf(runsEverything)('documents that load slowly leave others their turn', async () => {
    const documents = startDocuments({ remote: door(true) });
    const slow = await startSlowSite();
    const resources = { enabled: true, maxBytes: 1000, timeoutMs: 60_000 };
    const loading = [1, 2].map(() => documents.pdf(jobOf(slow.html, { resources })));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(2);
    await documents.pdf(jobOf('<p>quick</p>'));
    expect(slow.waiting).toHaveLength(2);
    slow.release();
    await Promise.all(loading);
  });

  it.runIf(runsEverything)('a browser that cannot stop a page is ended (looks at /proc)', async () => {
    const documents = startDocuments({ remote: door(true) });
    const slow = await startSlowSite();
    const caller = new AbortController();
    const printing = documents.pdf(jobOf(slow.html, { signal: caller.signal }));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
    const processes = await descendantsOf(self);
    signal(processes, 'SIGSTOP');
    caller.abort(new Error('The client has gone.'));
    await expect(printing).rejects.toThrow('The client has gone.');
    await expect.poll(() => stillRunning(processes), PATIENT).toEqual([]);
    expect((await documents.pdf(jobOf('<p>next</p>'))).length).toBeGreaterThan(500);
  });

  it.runIf(runsEverything)(
    'a browser that hangs is replaced under the document (looks at /proc)',
    { timeout: 60_000 },
    async () => {
      const documents = startDocuments();
      await documents.pdf(jobOf('<p>warm</p>'));
      const processes = await descendantsOf(self);
      signal(processes, 'SIGSTOP');
      expect((await documents.pdf(jobOf('<p>text</p>'))).length).toBeGreaterThan(500);
      await expect.poll(() => stillRunning(processes), PATIENT).toEqual([]);
    },
  );

  it('a browser that does not start does not hold up the close (looks at /proc)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-hanging-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, 'chromium');
    await writeFile(path, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    const documents = startDocuments({ browser: { path } });
    const refused = expect(documents.pdf(jobOf('<p>text</p>'))).rejects.toMatchObject({ status: 503 });
    await expect.poll(async () => (await descendantsOf(self)).length, PATIENT).toBe(1);
    await documents.close();
    await refused;
    await expect.poll(() => descendantsOf(self), PATIENT).toEqual([]);
  });

  it.runIf(runsEverything)('a document that never gets ready is cut off with a clear error', async () => {
    const documents = startDocuments({ pdfLimits: { renderMs: 6000 } });
    await documents.pdf(jobOf('warm'));
    const blur = '<div style="filter:blur(90px);width:3000px;height:30000px;background:red"></div>'.repeat(
      20,
    );
    const resources = { enabled: false, maxBytes: 1, timeoutMs: 1 };
    const [endless, other] = await Promise.allSettled([
      documents.pdf(jobOf(blur, { resources })),
      documents.pdf(jobOf('<p>quick</p>')),
    ]);
    expect(endless).toMatchObject({
      status: 'rejected',
      reason: { status: 400, message: 'The document takes too long to make.' },
    });
    expect(other.status).toBe('fulfilled');
  });

  it.runIf(runsEverything)(
    'a document that takes too much memory is cut off, and the other one is made',
    async () => {
      const documents = startDocuments({
        remote: door(true),
        pdfLimits: { maxProcessBytes: 250 * 1024 * 1024 },
      });
      const slow = await startSlowSite();
      const other = documents.pdf(
        jobOf(slow.html, { resources: { enabled: true, maxBytes: 1, timeoutMs: 60_000 } }),
      );
      await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
      await expect(documents.pdf(jobOf('<p>some words here</p>'.repeat(300_000)))).rejects.toMatchObject({
        status: 400,
      });
      slow.release();
      expect((await other).length).toBeGreaterThan(500);
    },
  );

  test('a file that grows too large is cut off', async () => {
    const documents = startDocuments({ pdfLimits: { maxPdfBytes: 5000 } });
    await expect(documents.pdf(jobOf('<p>words of many kinds</p>'.repeat(500)))).rejects.toMatchObject({
      status: 400,
    });
  });

  test('more than the queue holds is refused at once', async () => {
    const documents = startDocuments({ remote: door(true), pdfLimits: { running: 1, waiting: 1 } });
    const slow = await startSlowSite();
    const first = documents.pdf(jobOf(slow.html));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
    const second = documents.pdf(jobOf('<p>second</p>'));
    await expect(documents.pdf(jobOf('<p>third</p>'))).rejects.toMatchObject({
      status: 503,
      headers: { 'Retry-After': expect.any(String) as string },
    });
    slow.release();
    await Promise.all([first, second]);
  });

  test('the job of a disconnected client is aborted, running or waiting', async () => {
    const documents = startDocuments({ remote: door(true), pdfLimits: { running: 1 } });
    const slow = await startSlowSite();
    const [one, two] = [new AbortController(), new AbortController()];
    const running = documents.pdf(jobOf(slow.html, { signal: one.signal }));
    await expect.poll(() => slow.waiting.length, PATIENT).toBe(1);
    const waiting = documents.pdf(jobOf('<p>x</p>', { signal: two.signal }));
    const reason = new Error('The client has gone.');
    two.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    one.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect((await documents.pdf(jobOf('<p>next</p>'))).length).toBeGreaterThan(500);
  });
});
