import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Signals that ask the process to end. */
export interface StopSignals {
  /** Settles at the first of them. */
  readonly received: Promise<NodeJS.Signals>;
  /** Gives the signals back to their defaults. */
  release(): void;
}

/** Takes over SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process immediately. */
export const takeStopSignals = (): StopSignals => {
  let first: ((signal: NodeJS.Signals) => void) | undefined;
  const received = new Promise<NodeJS.Signals>((resolve) => {
    first = resolve;
  });
  const listen = (signal: NodeJS.Signals): void => {
    // By custom a process that a signal ended has 128 and the signal's number for its status.
    if (first === undefined) process.exit(128 + constants.signals[signal]);
    first(signal);
    first = undefined;
  };
  for (const signal of SIGNALS) process.on(signal, listen);
  return {
    received,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, listen);
    },
  };
};
