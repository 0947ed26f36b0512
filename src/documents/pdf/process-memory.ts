import { readFile } from 'node:fs/promises';

/**
 * Bytes of memory that belong to a process alone, without program code and other mapped files. Undefined where the system does not say
 * (no Linux) and when the process has gone.
 */
export const memoryOf = async (pid: number): Promise<number | undefined> => {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const parts = [...status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gmu)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, kb]) => sum + Number(kb) * 1024, 0);
};
