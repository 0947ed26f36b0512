/**
 * `npm run test:model -- local s3 --seed 7 --operations 20000 --runs 5`: long runs by hand. Without names:
 * every store that can run here. With `--faults` answers of the store are lost and wrong, and removed items
 * go to the trash, as with `--trash`; `--seconds` ends a run by time,
 * `--instances` starts several services on the same sources, where a move by copying may leave a file twice.
 */
import { parseArgs } from 'node:util';
import { Faults } from './faults.ts';
import { runModel } from './run.ts';
import { storeKinds } from './stores.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    operations: { type: 'string' },
    seconds: { type: 'string' },
    faults: { type: 'boolean', default: false },
    trash: { type: 'boolean', default: false },
    runs: { type: 'string', default: '1' },
    clients: { type: 'string', default: '' },
    instances: { type: 'string', default: '1' },
  },
});

const unknown = positionals.filter((name) => !Object.hasOwn(storeKinds, name));
if (unknown.length > 0)
  throw new Error(`no store is named ${unknown.join(', ')}: there are ${Object.keys(storeKinds).join(', ')}`);

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
    const faults = values.faults ? new Faults(seed) : undefined;
    const stores = await kind.start(faults);
    const begun = Date.now();
    try {
      const report = await runModel({
        ...stores,
        seed,
        clients: Number(values.clients === '' ? (values.faults ? 12 : 4) : values.clients),
        instances: Number(values.instances),
        operations: Number(values.operations ?? (values.seconds === undefined ? 5000 : Infinity)),
        ...(values.seconds === undefined ? {} : { seconds: Number(values.seconds) }),
        trash: values.faults || values.trash,
        faults,
      });
      const { done, refused, unknown } = report.counts;
      console.log(
        `${name}, seed ${String(seed)}: ${String(done)} done, ${String(refused)} refused, ${String(unknown)} unknown, ` +
          (faults === undefined
            ? ''
            : `${String(faults.counts.lost)} answers lost, ${String(faults.counts.absent)} false 404s, `) +
          `${String(report.files)} files in the end, ${String(report.described)} with words, ${String(Math.round((Date.now() - begun) / 1000))} s`,
      );
      for (const line of [...report.violations, ...report.complaints]) console.log(`  ${line}`);
      if (report.violations.length > 0) process.exitCode = 1;
    } finally {
      await stores.stop();
    }
  }
}
