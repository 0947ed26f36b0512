import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runModel } from './run.ts';
import { storeKinds, type Stores } from './stores.ts';

// A seed of its own for each day: a failure names it, and `npm run test:model -- <store> --seed <seed>` runs
// it again.
const today = Math.floor(Date.now() / 86_400_000) % 100_000;

describe.each(Object.entries(storeKinds))('several clients at once on %s', (name, kind) => {
  describe.skipIf(kind.missing !== undefined)(kind.missing ?? 'with changes from outside', () => {
    let stores: Stores;
    beforeAll(async () => {
      stores = await kind.start();
    });
    afterAll(async () => {
      await stores?.stop();
    });

    it(`lose nothing, tear nothing and double nothing (seed ${String(today)})`, async () => {
      const operations = name === 's3' || name === 'webdav' ? 300 : 500;
      const report = await runModel({ ...stores, seed: today, clients: 4, operations });
      expect(report.violations).toEqual([]);
      expect(report.complaints).toEqual([]);
      expect(report.counts.done).toBeGreaterThan(operations / 4);
    }, 120_000);
  });
});
