import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { median, timed, type Measurement } from './measurement.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withScratch } from './scratch.ts';
import { withService } from './service.ts';

const ROUNDS = 5;

const emptyNode = async (): Promise<void> => {
  const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
  await once(child, 'exit');
};

/**
 * Time from the start of the process to its first response, compared with an empty Node program; and the
 * memory of the idle service.
 */
export const startUp: Measurement = {
  name: 'start-up',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      await mkdir(root);
      const starts: number[] = [];
      const memories: number[] = [];
      const empties: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        empties.push(await timed(emptyNode));
        await withService(scratch, root, async (service) => {
          starts.push(service.startedIn);
          await delay(500);
          memories.push(await service.memory());
        });
      }
      return [
        {
          what: 'start to first answer',
          unit: 'ms',
          ours: median(starts),
          reference: { name: "node -e ''", value: median(empties) },
        },
        { what: 'RSS, idle', unit: 'MB', ours: median(memories) },
      ];
    }),
};
