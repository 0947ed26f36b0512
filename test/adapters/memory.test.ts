import { describe, expect, it } from 'vitest';
import { describeStorageConformance, withFaults } from 'stowage/testing';
import { MemoryAdapter, memoryFactory } from '../../dist/adapters/memory/adapter.js';

describeStorageConformance({ describe, it }, 'the memory adapter', {
  open: () => ({ adapter: new MemoryAdapter() }),
});
describeStorageConformance({ describe, it }, 'the memory adapter through a decorator without faults', {
  open: () => ({ adapter: withFaults(new MemoryAdapter(), []) }),
});
describeStorageConformance({ describe, it }, 'the memory adapter with nothing but the required operations', {
  open: () => ({
    adapter: withFaults(new MemoryAdapter(), [], { hide: ['copyFolder', 'moveFolder', 'stage', 'statMany'] }),
  }),
});
