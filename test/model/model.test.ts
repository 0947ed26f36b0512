import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mostly, shareOfDay } from '../before-release.ts';
import { Faults } from './faults.ts';
import { losses } from './losses.ts';
import { runModel } from './run.ts';
import { startMemory, storeKinds, type Stores } from './stores.ts';

// A seed of its own for each day: a failure names it, and `npm run test:model -- <store> --seed <seed>` runs
// it again.
const today = Math.floor(Date.now() / 86_400_000) % 100_000;

// Those of the others take long; `npm run test:model` runs them.
const QUICK = mostly(2, ['local', 's3', 'overlay', 'memory', 'webdav']);
const quick = Object.entries(storeKinds).filter(([name]) => QUICK.includes(name));

describe.each(quick)('several clients at once on %s', (name, kind) => {
  describe.skipIf(kind.missing !== undefined)(kind.missing ?? 'with changes from outside', () => {
    let stores: Stores;
    beforeAll(async () => {
      stores = await kind.start();
    });
    afterAll(async () => {
      await stores?.stop();
    });

    it(`lose nothing, tear nothing and double nothing (seed ${String(today)})`, async () => {
      const operations = name === 's3' || name === 'webdav' ? 120 : 180;
      const report = await runModel({ ...stores, seed: today, clients: 4, operations });
      // As one text: a failure then shows them.
      expect(report.violations.join('\n')).toBe('');
      expect(report.complaints.join('\n')).toBe('');
      expect(report.counts.done).toBeGreaterThan(operations / 4);
      expect(report.said).toBeGreaterThan(0);
    }, 120_000);
  });
});

describe.each(mostly(1, ['local', 'memory']))('twelve clients on %s that loses answers', (name) => {
  it(`lose nothing that was answered, with the trash (seed ${String(today)})`, async () => {
    const kind = storeKinds[name];
    if (kind === undefined) throw new Error(`no store ${name}`);
    const faults = new Faults(today, 0.02);
    const stores = await kind.start(faults);
    try {
      const run = { ...stores, seed: today, clients: 12, operations: 250, trash: true, faults };
      const { violations, counts } = await runModel(run);
      expect(violations.join('\n')).toBe('');
      expect(counts.done).toBeGreaterThan(100);
      expect(faults.counts.lost).toBeGreaterThan(0);
    } finally {
      await stores.stop();
    }
  }, 60_000);
});

describe('a run on a store that loses something in silence', () => {
  const all = Object.entries(losses);
  it.concurrent.each(shareOfDay(all.length, all))(
    'says so: %s',
    async (_name, { wrap, says, operations = 200 }) => {
      const stores = await startMemory(wrap);
      // One client: which doubles are left at the end does not depend on who was faster.
      const { violations } = await runModel({ ...stores, seed: 1, clients: 1, operations, trash: true });
      expect(violations.join('\n')).toMatch(says);
    },
    120_000,
  );
});
