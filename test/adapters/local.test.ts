import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { describeStorageConformance, withFaults, type StoreUnderTest } from 'stowage/testing';
import { capabilitiesOf, createSilentLogger, openLocalAdapter } from '#internals';
import type { LocalOptions } from '../../packages/stowage/dist/adapters/local/factory.js';

// Once on a real disk; the variations in memory, where there is such a place: they are about something else.
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const openStore = async (
  place: string,
  confinement?: LocalOptions['confinement'],
): Promise<StoreUnderTest> => {
  const root = await mkdtemp(join(place, 'stowage-local-'));
  const adapter = await openLocalAdapter({ root, log: createSilentLogger(), confinement });
  return {
    adapter,
    cleanup: () => rm(root, { recursive: true }),
    plant: (name) => writeFile(join(root, name), 'planted'),
  };
};

const withoutFaults = async (): Promise<StoreUnderTest> => {
  const store = await openStore(MEMORY);
  return { ...store, adapter: withFaults(store.adapter, []) };
};

const promises = { ...capabilitiesOf('local'), caseSensitive: true };

describeStorageConformance({ describe, it }, 'the local adapter', {
  open: () => openStore(tmpdir()),
  plants: true,
  promises,
});
describeStorageConformance(
  { describe, it },
  'the local adapter by checked paths, as on systems without handles',
  {
    open: () => openStore(MEMORY, 'paths'),
    plants: true,
    promises,
  },
);
describeStorageConformance({ describe, it }, 'the local adapter through a decorator without faults', {
  open: withoutFaults,
  plants: true,
  promises: { ...promises, walk: false },
});
