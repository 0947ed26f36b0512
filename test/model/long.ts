/**
 * `npm run test:model -- local s3 --seed 7 --operations 20000 --runs 5`: long runs by hand. Without names:
 * every store that can run here.
 */
import { parseArgs } from 'node:util';
import { runModel } from './run.ts';
import { storeKinds } from './stores.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    operations: { type: 'string', default: '5000' },
    runs: { type: 'string', default: '1' },
    clients: { type: 'string', default: '4' },
  },
});

const chosen = Object.entries(storeKinds).filter(
  ([name]) => positionals.length === 0 || positionals.includes(name),
);
for (const [name, kind] of chosen) {
  if (kind.missing !== undefined) {
    console.log(`${name}: left out: ${kind.missing}`);
    continue;
  }
  for (let run = 0; run < Number(values.runs); run += 1) {
    const seed = Number(values.seed) + run;
    const stores = await kind.start();
    const begun = Date.now();
    try {
      const report = await runModel({
        ...stores,
        seed,
        clients: Number(values.clients),
        operations: Number(values.operations),
      });
      const { done, refused, unknown } = report.counts;
      console.log(
        `${name}, seed ${String(seed)}: ${String(done)} done, ${String(refused)} refused, ${String(unknown)} unknown, ` +
          `${String(report.files)} files in the end, ${String(Math.round((Date.now() - begun) / 1000))} s`,
      );
      for (const line of [...report.violations, ...report.complaints]) console.log(`  ${line}`);
      if (report.violations.length > 0) process.exitCode = 1;
    } finally {
      await stores.stop();
    }
  }
}
