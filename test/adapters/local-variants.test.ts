import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { describeStorageConformance, withFaults, type StoreUnderTest } from 'stowage/testing';
import { capabilitiesOf, createSilentLogger, openLocalAdapter } from '#internals';
import { describeThemes, onlyThemes } from './further-servers.ts';
import type { LocalOptions } from '../../packages/stowage/dist/adapters/local/factory.js';

// In memory, where there is such a place: these are about something else than the disk, which local.test.ts uses.
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const openStore = async (confinement?: LocalOptions['confinement']): Promise<StoreUnderTest> => {
  const root = await mkdtemp(join(MEMORY, 'stowage-local-'));
  const adapter = await openLocalAdapter({ root, log: createSilentLogger(), confinement });
  return {
    adapter,
    cleanup: () => rm(root, { recursive: true }),
    plant: (name) => writeFile(join(root, name), 'planted'),
  };
};

const withoutFaults = async (): Promise<StoreUnderTest> => {
  const store = await openStore();
  return { ...store, adapter: withFaults(store.adapter, []) };
};

const promises = { ...capabilitiesOf('local'), caseSensitive: true };

const BY_PATHS = 'the local adapter by checked paths, as on systems without handles';
/** Operations that find their file by another call. */
const OF_CONFINEMENT = [
  'stat',
  'list',
  'walk',
  'read',
  'write',
  'folders',
  'removal',
  'copy',
  'move',
  'stage',
  'names',
];
describeStorageConformance({ describe: describeThemes(BY_PATHS, onlyThemes(OF_CONFINEMENT)), it }, BY_PATHS, {
  open: () => openStore('paths'),
  plants: true,
  promises,
});

const DECORATED = 'the local adapter through a decorator';
/** What a decorator passes on: the other themes use the same operations, and depend on what is below it. */
const OF_DECORATOR = ['stat', 'list', 'walk', 'read', 'write', 'folders', 'removal', 'move', 'stage'];
describeStorageConformance({ describe: describeThemes(DECORATED, onlyThemes(OF_DECORATOR)), it }, DECORATED, {
  open: withoutFaults,
  plants: true,
  promises: { ...promises, walk: false },
});
