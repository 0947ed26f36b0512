import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * What this process holds, in bytes, once its garbage is collected: how much of that lies about is a matter of the machine
 * and of its Node, not of the code under test. Blocks for some milliseconds.
 */
export function memoryInUse(): NodeJS.MemoryUsage {
  collect();
  return process.memoryUsage();
}
