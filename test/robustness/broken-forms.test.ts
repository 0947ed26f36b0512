import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, post, startService, type Service } from './service.ts';

const limit = 1_000_000;

describe('Broken and endless forms', () => {
  let scratch = '';
  let root = '';
  let service: Service;

  beforeAll(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'stowage-broken-'));
    root = path.join(scratch, 'files');
    await mkdir(root);
    service = await startService(path.join(scratch, 'config.json'), root, {
      createThumb: false,
      extensions: ['zip'],
      maxUploadFileSize: limit,
    });
  });
  afterAll(async () => {
    await service.kill();
    await rm(scratch, { recursive: true, force: true });
  });

  const expectUnharmed = async (): Promise<void> => {
    expect((await fetch(`http://127.0.0.1:${String(service.port)}/ping`)).status).toBe(200);
    expect(service.child.exitCode).toBeNull();
    const files = async (): Promise<string[]> =>
      (await readdir(root, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map(({ name }) => name);
    await expect.poll(files, { timeout: 10_000 }).toEqual([]);
  };

  /**
   * @see CVE-2025-47935, CVE-2025-47944, CVE-2025-48997, CVE-2025-7338, CVE-2022-24434: parsers that fell
   *   over such forms
   */
  test('answers every malformed form with a refusal', async () => {
    const whole = formOf('a.zip', randomBytes(2000)).toString('latin1');
    const malformed: Record<string, string> = {
      'no end': whole.slice(0, -60),
      'no boundary in the body': 'there is no part here',
      'a part without its blank line': whole.replace('\r\n\r\n', '\r\n'),
      'a part without a name': whole.replace('name="files[0]"; ', ''),
      'an empty field name': whole.replace('files[0]', ''),
      'a line that is not a header': whole.replace('content-type: application', ':::: \u0000 application'),
      'a header of 100 KB': whole.replace(
        'content-type: ',
        `x-filler: ${'x'.repeat(100_000)}\r\ncontent-type: `,
      ),
      'an empty body': '',
    };
    for (const [kind, body] of Object.entries(malformed)) {
      const status = await post(service.port, Buffer.from(body, 'latin1'));
      expect([kind, status]).toEqual([
        kind,
        expect.toSatisfy((value: number) => value >= 400 && value < 500),
      ]);
    }
    for (const contentType of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'multipart/form-data; boundary=""',
    ]) {
      const status = await post(service.port, Buffer.from(whole, 'latin1'), { contentType });
      expect([contentType, status]).toEqual([contentType, 400]);
    }
    await expectUnharmed();
  });

  test('survives clients that leave in the middle', async () => {
    const before = await service.memory();
    for (let wave = 0; wave < 10; wave += 1) {
      await Promise.all(
        Array.from({ length: 20 }, () => {
          const body = formOf('left.zip', randomBytes(limit - 1));
          return post(service.port, body, { cutAfter: randomInt(1, body.length) });
        }),
      );
    }
    await expectUnharmed();
    const after = await service.memory();
    // 200 uploads of up to 1 MB came in part: what each of them held must have been given back.
    if (before !== undefined && after !== undefined) expect(after - before).toBeLessThan(100);
  });

  test('stops reading at the limit, and needs no memory for what goes beyond', async () => {
    const before = await service.memory();
    const body = formOf('huge.zip', Buffer.alloc(40 * limit, 'x'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(service.port, body)));
    for (const status of answers) expect([403, undefined]).toContain(status);
    expect(answers).toContain(403);
    await expectUnharmed();
    const after = await service.memory();
    if (before !== undefined && after !== undefined) expect(after - before).toBeLessThan(100);
  });
});
