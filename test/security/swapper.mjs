// An attacker with access to the disk: swaps a folder for a link to another folder and back, as fast as possible or with long pauses,
// until its standard input ends. Tells how often on its standard output.
// Usage: node swapper.mjs FOLDER OUTSIDE fast|sly
import { renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder, outside, manner] = process.argv.slice(2);
const parked = `${folder}.parked`;
let running = true;
let swaps = 0;
let nuisances = 0;
process.stdin.on('end', () => (running = false)).resume();

/** Whoever is attacked may make the folder anew in the moment in which it is away: put that aside. */
const insist = (act) => {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
      renameSync(folder, `${folder}.nuisance-${nuisances++}`);
    }
  }
};

process.stdout.write('ready\n');
while (running) {
  renameSync(folder, parked);
  insist(() => symlinkSync(outside, folder));
  // A moment is enough for whoever checks first and acts then; sly ones take care not to be seen before and after.
  if (manner === 'fast') await sleep(0);
  else for (const end = performance.now() + 2; performance.now() < end;);
  unlinkSync(folder);
  insist(() => renameSync(parked, folder));
  swaps += 1;
  await sleep(manner === 'fast' ? 0 : 230 + Math.random() * 30);
}
process.stdout.write(`${swaps}\n`);
