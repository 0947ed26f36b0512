import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { describeStorageConformance } from 'stowage/testing';
import { capabilitiesOf, createSilentLogger, openLocalAdapter } from '#internals';

describeStorageConformance({ describe, it }, 'the local adapter', {
  open: async () => {
    const root = await mkdtemp(join(tmpdir(), 'stowage-local-'));
    const another = () => openLocalAdapter({ root, log: createSilentLogger() });
    return {
      adapter: await another(),
      another,
      cleanup: () => rm(root, { recursive: true }),
      plant: (name) => writeFile(join(root, name), 'planted'),
    };
  },
  plants: true,
  promises: { ...capabilitiesOf('local'), caseSensitive: true },
});
