import { createThumbnails } from '../pictures/kept/create-thumbnails.ts';
import type { BatchOutcome } from '../pictures/kept/thumbnails.ts';
import { createImagePool } from '../pictures/image-editor.ts';
import { drawingPrograms } from '../pictures/previews/programs.ts';
import { reservedNames } from '../view/reserved.ts';
import { checkConfiguration } from '../checked-configuration.ts';
import { readThreadPoolSize } from '../config/environment.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { NotFoundError, StowageError, WrongKindError } from '../errors/errors.ts';
import { createSilentLogger } from '../basics/log/logger.ts';
import { createSourceGroup } from '../sources/source-group.ts';
import type { Source } from '../sources/source.ts';
import type { Entry } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { parsePath, UsageError } from './arguments.ts';
import { readDefinition } from './read-config.ts';
import { StartError } from './serve.ts';

/** What the command line asks for. */
export interface ThumbsCommand {
  readonly config: string | undefined;
  readonly source: string;
  readonly folder: string;
}

/** Pictures that are looked up with one question to the store. */
const BATCH = 500;

/** Pictures and folders of one folder that listings show. */
interface Contents {
  readonly pictures: readonly Entry[];
  readonly folders: SourcePath[];
}

const readFolder = async (source: Source, folder: SourcePath, signal: AbortSignal): Promise<Contents> => {
  const isReserved = reservedNames(source.settings);
  const { extensions, imageExtensions } = source.settings;
  const drawn = [...imageExtensions, ...drawingPrograms(source.settings).keys()];
  const shown = new Set(drawn.filter((one) => extensions.includes(one)));
  const pictures: Entry[] = [];
  const folders: SourcePath[] = [];
  for await (const page of (await source.storage()).list(folder, { signal })) {
    for (const entry of page) {
      if (isReserved(entry.name)) continue;
      if (entry.kind === 'folder') folders.push(folder.below(entry.name));
      else if (shown.has(extensionOf(entry.name) ?? '')) pictures.push(entry);
    }
  }
  return { pictures, folders };
};

/** Counts, and shows them in one line of a terminal. */
class Progress {
  readonly counts: Record<BatchOutcome, number> = { made: 0, current: 0, broken: 0, failed: 0 };
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = 0;

  add(path: SourcePath, outcome: BatchOutcome): void {
    this.counts[outcome] += 1;
    if (outcome === 'broken') this.#line(`cannot be drawn: ${path.toString()}`);
    if (outcome === 'failed') this.#line(`could not be made: ${path.toString()}`);
    const now = performance.now();
    if (!this.#isTerminal || now - this.#shownAt < 100) return;
    this.#shownAt = now;
    process.stderr.write(`\r\u001b[K${this.summary()} ${path.toString().slice(-40)}`);
  }

  clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\u001b[K');
  }

  summary(): string {
    const { made, current, broken, failed } = this.counts;
    const rest = failed === 0 ? '' : `, ${String(failed)} could not be made`;
    return `${String(made)} made, ${String(current)} were there, ${String(broken)} cannot be drawn${rest}`;
  }

  #line(text: string): void {
    this.clear();
    process.stderr.write(`${text}\n`);
  }
}

/** Makes the thumbnails of a folder and all below, one folder after the other. */
const makeBelow = async (
  source: Source,
  start: SourcePath,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> => {
  const pool = createImagePool({ memory: source.settings.imageMemory, threads: readThreadPoolSize() });
  const thumbnails = createThumbnails({ log: createSilentLogger(), pool });
  const waiting = [start];
  try {
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const { pictures, folders } = await readFolder(source, folder, signal);
      for (let from = 0; from < pictures.length; from += BATCH) {
        const batch = pictures.slice(from, from + BATCH);
        const here = folder;
        await thumbnails.makeAll(source, folder, batch, signal, ({ name }, outcome) =>
          progress.add(here.below(name), outcome),
        );
      }
      waiting.push(...folders.reverse());
    }
  } finally {
    await thumbnails.close();
  }
};

/**
 * Makes the thumbnails that are missing or older than their pictures, as listings would. Returns the exit
 * status: 1 when some could not be stored; what cannot be drawn at all is only named.
 * @throws UsageError, StartError, ConfigError
 */
export const makeThumbnails = async (command: ThumbsCommand, signal: AbortSignal): Promise<number> => {
  const { config: written, hooks } = await readDefinition(command.config);
  const { config, factories } = checkConfiguration(written, hooks);
  const folder = parsePath('folder', command.folder);
  const group = createSourceGroup(config.sources, { factories, log: createSilentLogger() });
  const source = group.find(command.source);
  if (source === undefined)
    throw new UsageError(
      `Unknown source: ${command.source} (known: ${group.all.map(({ name }) => name).join(', ')})`,
    );
  if (!source.settings.createThumb) throw new StartError(`createThumb is off for ${source.name}.`);
  const progress = new Progress();
  try {
    await makeBelow(source, folder, progress, signal);
  } catch (error) {
    progress.clear();
    if (signal.aborted) {
      process.stdout.write(`Stopped. ${progress.summary()}. Run it again to go on.\n`);
      return 1;
    }
    if (error instanceof NotFoundError || error instanceof WrongKindError)
      throw new StartError(`There is no folder ${JSON.stringify(command.folder)} in ${source.name}.`);
    if (error instanceof StowageError)
      throw new StartError(`${source.name} failed: ${error.detail ?? error.message} (${progress.summary()})`);
    throw error;
  } finally {
    await group.close();
  }
  progress.clear();
  process.stdout.write(`${progress.summary()}.\n`);
  return progress.counts.failed > 0 ? 1 : 0;
};
