/** Runs tasks, at most `limit` at a time, and gives their results in order. Rejects as soon as one does; the others run to their end. */
export const sideBySide = async <Result>(
  tasks: readonly (() => Promise<Result>)[],
  limit: number,
): Promise<Result[]> => {
  const results = new Array<Result>(tasks.length);
  const rest = tasks.entries();
  const worker = async (): Promise<void> => {
    for (const [index, task] of rest) results[index] = await task();
  };
  await Promise.all(Array.from({ length: Math.min(limit, tasks.length) }, worker));
  return results;
};
