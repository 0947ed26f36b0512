/** The status that a process has by custom when Ctrl+C has ended it. */
const INTERRUPTED = 130;

/**
 * Runs work that Ctrl+C, or SIGTERM, asks to end in an orderly way; the second signal ends the process
 * immediately. Returns its exit status, or 130 when it was stopped.
 */
export const interruptible = async (work: (signal: AbortSignal) => Promise<number>): Promise<number> => {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    const status = await work(controller.signal);
    return controller.signal.aborted ? INTERRUPTED : status;
  } catch (error) {
    if (controller.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
};
