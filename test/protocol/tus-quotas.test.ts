import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HttpError, registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { memoryFactory } from '#internals';
import type { Service } from './service.ts';
import { ask, create, patch, startTus, type TusService } from './tus-client.ts';

const text = (bytes: number): string => 'x'.repeat(bytes);
const quota = { bytes: 1000 };

const begin = (service: TusService, bytes: number, filename = 'a.txt') =>
  create(service.tus, bytes, { filename });

const used = async (service: Pick<Service, 'call'>): Promise<unknown> => {
  const { data } = await service.call('permissions', { source: '' });
  return (data['quota'] as { usedBytes?: number }).usedBytes;
};

const upload = async (service: Service, name: string, bytes: number): Promise<number> =>
  (await service.upload([['files[0]', name, text(bytes)]])).status;

describe('an upload in parts keeps the room that it has announced', () => {
  it('from its beginning, so that of two that fit only one by one the second is refused immediately', async () => {
    const service = await startTus({ quota });
    const first = await begin(service, 600);
    expect(first.status).toBe(201);
    expect(await used(service)).toBe(600);
    const second = await begin(service, 401, 'b.txt');
    expect([second.status, second.error]).toEqual([413, 'QUOTA_EXCEEDED']);
    expect(await upload(service, 'form.txt', 401)).toBe(413);
    expect((await begin(service, 400, 'b.txt')).status).toBe(201);
    expect((await patch(first.address, 0, text(600))).status).toBe(200);
    expect(await used(service)).toBe(1000);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
  });

  it('and none where it is refused because too many are unfinished', async () => {
    const service = await startTus({ quota, tus: { maxUploads: 1 } });
    const { address } = await begin(service, 600);
    for (const bytes of [100, 300]) expect((await begin(service, bytes, 'b.txt')).status).toBe(503);
    expect(await used(service)).toBe(600);
    expect((await ask('DELETE', address)).status).toBe(204);
    expect(await used(service)).toBe(0);
  });

  it('of files as of bytes', async () => {
    const service = await startTus({ quota: { files: 1 } });
    const { address } = await begin(service, 1);
    expect((await begin(service, 1, 'b.txt')).status).toBe(413);
    expect((await patch(address, 0, 'x')).status).toBe(200);
  });

  it('until the client removes it, or it is refused for good', async () => {
    const refuse = (): never => {
      throw new HttpError(402, 'Please pay.');
    };
    const service = await startTus({ quota }, { beforeEvent: refuse });
    const removed = await begin(service, 600);
    expect((await ask('DELETE', removed.address)).status).toBe(204);
    expect(await used(service)).toBe(0);
    const refused = await begin(service, 600);
    expect((await patch(refused.address, 0, text(600))).status).toBe(402);
    expect(await used(service)).toBe(0);
  });

  it('until it expires', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await startTus({ quota, tus: { hours: 1 } });
    expect((await begin(service, 600)).status).toBe(201);
    vi.advanceTimersByTime(50 * 60_000);
    expect(await used(service)).toBe(600);
    vi.advanceTimersByTime(20 * 60_000);
    await expect.poll(() => used(service)).toBe(0);
  });

  it('for an hour at most when no byte comes: its client may never have heard of it', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await startTus({ quota });
    const silent = await begin(service, 600);
    const begun = await begin(service, 300, 'b.txt');
    expect((await patch(begun.address, 0, 'x')).status).toBe(204);
    const expires = Date.parse(silent.headers.get('upload-expires') ?? '');
    expect(expires).toBeLessThanOrEqual(Date.now() + 61 * 60_000);
    vi.advanceTimersByTime(50 * 60_000);
    expect(await used(service)).toBe(900);
    vi.advanceTimersByTime(20 * 60_000);
    await expect.poll(() => used(service)).toBe(300);
    expect((await ask('HEAD', silent.address)).status).toBe(404);
    expect((await patch(begun.address, 1, text(299))).status).toBe(200);
  });

  it('only for what is larger, when it replaces a file', async () => {
    const service = await startTus({ quota, saveSameFileNameStrategy: 'replace' });
    await service.source('files').put({ 'a.txt': text(500) });
    const { address } = await begin(service, 900);
    expect(await used(service)).toBe(900);
    expect((await begin(service, 101, 'b.txt')).status).toBe(413);
    expect((await patch(address, 0, text(900))).status).toBe(200);
    expect(await used(service)).toBe(900);
  });

  it('while the store is down', async () => {
    const storageAdapter = `down-${randomUUID()}`;
    const faults = [{ operation: 'write', effect: 'fail-before', call: 1 }] as const;
    registerStorageAdapter(storageAdapter, {
      create: async (context) =>
        withFaults(await memoryFactory.create({ ...context, options: undefined }), [...faults]),
    });
    const service = await startTus({ quota, sources: { files: { storageAdapter } } });
    const { address } = await begin(service, 600);
    expect((await patch(address, 0, text(600))).status).toBe(500);
    expect(await used(service)).toBe(600);
    expect((await begin(service, 401, 'b.txt')).status).toBe(413);
    expect((await patch(address, 600, '')).status).toBe(200);
    expect(await used(service)).toBe(600);
  });

  it('after a restart, unless it has expired meanwhile', async () => {
    const service = await startTus({ quota });
    const { address } = await begin(service, 600);
    const forgotten = await begin(service, 300, 'b.txt');
    const kept = await service.kept();
    const bytes = kept.find((path) => path.includes(forgotten.address.split('/').at(-1) ?? '?')) ?? '';
    await utimes(bytes, 0, 0);
    const sources = { files: { root: service.source('files').root } };
    const again = await startTus({ quota, sources, tus: { directory: dirname(dirname(bytes)) } });
    expect(await upload(again, 'form.txt', 401)).toBe(413);
    expect(await used(again)).toBe(600);
    expect((await patch(address.replace(service.url, again.url), 0, text(600))).status).toBe(200);
    expect(await used(again)).toBe(600);
    expect(await upload(again, 'form.txt', 400)).toBe(200);
  });
});
