import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { registerStorageAdapter } from 'stowage';
import { withFaults, type Fault } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { SourcePath, StorageUnavailableError } from 'stowage/storage';
import { MemoryAdapter, memoryFactory } from '#internals';
import { replacing } from './changing-store.ts';
import { startService, type Answer, type Service } from './service.ts';

/** A service whose store fails as planned, counted from its start. */
const startFaulty = (faults: readonly Fault[], settings: object = {}): Promise<Service> => {
  const storageAdapter = `faulty-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, {
    create: async (context) =>
      withFaults(await memoryFactory.create({ ...context, options: undefined }), faults),
  });
  return startService({ ...settings, sources: { files: { storageAdapter } } });
};

const namesIn = async (service: Service): Promise<unknown[]> => {
  const { data } = await service.call('files', { 'mods[sortBy]': 'name-asc' });
  const [source] = data['sources'] as { files: { name: string }[] }[];
  return (source?.files ?? []).map(({ name }) => name);
};

const read = async (service: Service, name: string): Promise<string> =>
  (await service.get('fileDownload', { name })).text();

const uploadThree = (service: Service): Promise<Answer> =>
  service.upload([
    ['files[0]', 'a.txt', 'new a'],
    ['files[1]', 'b.txt', 'new b'],
    ['files[2]', 'c.txt', 'new c'],
  ]);

describe('an upload that fails half-way', () => {
  it.each(['addNumber', 'error', 'replace'])('leaves none of its new files under %s', async (strategy) => {
    const service = await startFaulty([{ operation: 'commit', effect: 'fail-before', call: 3 }], {
      saveSameFileNameStrategy: strategy,
    });
    const answer = await uploadThree(service);
    expect(answer.status).toBe(500);
    expect(answer.success).toBe(false);
    expect(await namesIn(service)).toEqual([]);
    expect((await uploadThree(service)).status).toBe(200);
    expect(await namesIn(service)).toEqual(['a.txt', 'b.txt', 'c.txt']);
  });

  it('keeps a file that replaced another: better the new than none', async () => {
    const service = await startFaulty([{ operation: 'commit', effect: 'fail-before', call: 4 }], {
      saveSameFileNameStrategy: 'replace',
    });
    expect((await service.upload([['files[0]', 'a.txt', 'old a']])).status).toBe(200);
    expect((await uploadThree(service)).status).toBe(500);
    expect(await namesIn(service)).toEqual(['a.txt']);
    expect(await read(service, 'a.txt')).toBe('new a');
  });

  it('answers as the failure says, even when it cannot be withdrawn', async () => {
    const service = await startFaulty([
      { operation: 'commit', effect: 'fail-before', call: 2 },
      { operation: 'removeFile', effect: 'fail-before' },
    ]);
    const answer = await uploadThree(service);
    expect(answer.status).toBe(500);
    expect(answer.messages).toEqual(['The storage is not available.']);
    // The third was on its way beside the second.
    expect(await namesIn(service)).toEqual(['a.txt', 'c.txt']);
  });

  it('stores nothing when the content breaks on its way in', async () => {
    const service = await startFaulty([{ operation: 'stage', effect: 'cut', call: 3, bytes: 2 }]);
    expect((await uploadThree(service)).status).toBe(500);
    expect(await namesIn(service)).toEqual([]);
  });

  it('reports an unknown error of its own as a fault of the service', async () => {
    const storageAdapter = `wrong-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, {
      create: () =>
        Promise.resolve(
          replacing(new MemoryAdapter(), {
            stage: async (content) => {
              await content.resume().toArray();
              throw new TypeError('x is not a function');
            },
          }),
        ),
    });
    const service = await startService({ sources: { files: { storageAdapter } } });
    const { status, data } = await service.upload([['files[0]', 'a.txt', 'a']]);
    expect([status, data['error']]).toEqual([500, 'INTERNAL']);
  });

  it('keeps what somebody else has stored meanwhile under a name of its own', async () => {
    const storageAdapter = `changed-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, {
      create: () => {
        const store = new MemoryAdapter();
        let commits = 0;
        const stage = store.stage.bind(store);
        store.stage = async (...given) => {
          const staged = await stage(...given);
          const commit = staged.commit.bind(staged);
          staged.commit = async (...target) => {
            commits += 1;
            if (commits === 1) return commit(...target);
            await store.write(SourcePath.parse('a.txt'), Readable.from([Buffer.from('of somebody else')]));
            throw new StorageUnavailableError();
          };
          return staged;
        };
        return store;
      },
    });
    const service = await startService({ sources: { files: { storageAdapter } } });
    expect((await uploadThree(service)).status).toBe(500);
    expect(await namesIn(service)).toEqual(['a.txt']);
    expect(await read(service, 'a.txt')).toBe('of somebody else');
  });
});
