import { readdir, readFile } from 'node:fs/promises';

interface Running {
  readonly pid: number;
  readonly parent: number;
}

const read = async (pid: string): Promise<Running | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name in brackets may hold anything.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || state === 'Z' ? undefined : { pid: Number(pid), parent: Number(parent) };
};

const all = async (): Promise<readonly Running[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  return (await Promise.all(pids.map(read))).filter((one) => one !== undefined);
};

/** Ids of the processes that a process has started itself. */
export const childrenOf = async (pid: number): Promise<number[]> =>
  (await all()).filter(({ parent }) => parent === pid).map((child) => child.pid);

/** Ids of the processes that draw for this one. */
export const drawingProcesses = async (): Promise<number[]> => {
  const children = await childrenOf(process.pid);
  const lines = await Promise.all(
    children.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return children.filter((_pid, index) => lines[index]?.includes('process-main.js'));
};

/** Ids of all that a process has started, directly or not. */
export const descendantsOf = async (pid: number): Promise<number[]> => {
  const running = await all();
  const found = [pid];
  for (const parent of found) for (const one of running) if (one.parent === parent) found.push(one.pid);
  return found.slice(1);
};

/** Which of the processes still run. */
export const stillRunning = async (pids: readonly number[]): Promise<number[]> =>
  (await all()).map(({ pid }) => pid).filter((pid) => pids.includes(pid));

/** Memory of processes in bytes, without what they share with files. */
export const memoryOf = async (pids: readonly number[]): Promise<number> => {
  const texts = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')),
  );
  return texts.reduce((sum, text) => sum + Number(/RssAnon:\s*(\d+)/u.exec(text)?.[1] ?? 0) * 1024, 0);
};
