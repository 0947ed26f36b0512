import { afterAll, vi } from 'vitest';

type Ending = () => Promise<unknown>;

const endings = new Set<Ending>();

/**
 * Does something when the test file has ended. Test files share a process, and with it the modules that they
 * import: a helper's own `afterAll` would belong to the first of them.
 */
export const atEndOfFile = (ending: Ending): void => void endings.add(ending);

/** What `setup.ts` calls in every test file: the next file in the process also gets its environment and its clock back. */
export const endWithFile = (): void => {
  afterAll(async () => {
    const due = [...endings];
    endings.clear();
    await Promise.all(due.map((ending) => ending()));
    vi.unstubAllEnvs();
    vi.useRealTimers();
  });
};
