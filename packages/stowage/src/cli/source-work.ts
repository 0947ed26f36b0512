import type { CheckedConfiguration } from '../checked-configuration.ts';
import { NotFoundError, StowageError, WrongKindError } from '../errors/errors.ts';
import { createSilentLogger } from '../basics/log/logger.ts';
import { createSourceGroup } from '../sources/source-group.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { parsePath, UsageError } from './arguments.ts';
import { StartError } from './serve.ts';

/** What a command has done so far: one line in a terminal, and permanent lines. */
export abstract class Progress {
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = 0;

  abstract summary(): string;

  show(path: SourcePath): void {
    const now = performance.now();
    if (!this.#isTerminal || now - this.#shownAt < 100) return;
    this.#shownAt = now;
    process.stderr.write(`\r\u001b[K${this.summary()} ${path.toString().slice(-40)}`);
  }

  say(text: string): void {
    this.clear();
    process.stderr.write(`${text}\n`);
  }

  clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\u001b[K');
  }
}

/** Arguments of a command: the pictures of a source, or of a folder in it and everything below. */
export interface PicturesCommand {
  readonly config: string | undefined;
  readonly source: string;
  readonly folder: string;
}

/**
 * Runs `work`, which returns the exit status, on a folder of a configured source, and prints a summary.
 * @throws UsageError, StartError, ConfigError
 */
export const workInSource = async (
  { config, factories }: CheckedConfiguration,
  { source: name, folder: text }: PicturesCommand,
  progress: Progress,
  work: (source: Source, folder: SourcePath) => Promise<number>,
  signal: AbortSignal,
): Promise<number> => {
  const folder = parsePath('folder', text);
  const group = createSourceGroup(config.sources, { factories, log: createSilentLogger() });
  const source = group.find(name);
  if (source === undefined)
    throw new UsageError(`Unknown source: ${name} (known: ${group.all.map((one) => one.name).join(', ')})`);
  // Code of the host may wait for something that does not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  try {
    const status = await work(source, folder);
    progress.clear();
    process.stdout.write(`${progress.summary()}.\n`);
    return status;
  } catch (error) {
    progress.clear();
    if (signal.aborted) {
      process.stdout.write(`Stopped. ${progress.summary()}. Run it again to continue.\n`);
      return 1;
    }
    if (error instanceof NotFoundError || error instanceof WrongKindError)
      throw new StartError(`There is no folder ${JSON.stringify(text)} in ${source.name}.`);
    if (error instanceof StowageError)
      throw new StartError(`${source.name} failed: ${error.detail ?? error.message} (${progress.summary()})`);
    throw error;
  } finally {
    clearInterval(alive);
    await group.close();
  }
};
