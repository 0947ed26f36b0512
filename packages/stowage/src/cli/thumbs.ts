import { extensionOf } from '../basics/content/file-type.ts';
import { createSilentLogger } from '../basics/log/logger.ts';
import { checkConfiguration } from '../checked-configuration.ts';
import { readThreadPoolSize } from '../config/environment.ts';
import { createImagePool } from '../pictures/image-editor.ts';
import { createThumbnails } from '../pictures/kept/create-thumbnails.ts';
import type { BatchOutcome } from '../pictures/kept/thumbnails.ts';
import { drawingPrograms } from '../pictures/previews/programs.ts';
import type { Source } from '../sources/source.ts';
import type { Entry } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { reservedNames } from '../view/rights.ts';
import { readDefinition } from './read-config.ts';
import { StartError } from './serve.ts';
import { type PicturesCommand, Progress, workInSource } from './source-work.ts';

/** Pictures per request to the store. */
const BATCH = 500;

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

class Thumbnails extends Progress {
  readonly counts: Record<BatchOutcome, number> = { made: 0, current: 0, broken: 0, failed: 0 };

  add(path: SourcePath, outcome: BatchOutcome): void {
    this.counts[outcome] += 1;
    if (outcome === 'broken') this.say(`cannot be drawn: ${path.toString()}`);
    if (outcome === 'failed') this.say(`could not be made: ${path.toString()}`);
    this.show(path);
  }

  summary(): string {
    const { made, current, broken, failed } = this.counts;
    const rest = failed === 0 ? '' : `, ${String(failed)} could not be made`;
    return `${String(made)} made, ${String(current)} were there, ${String(broken)} cannot be drawn${rest}`;
  }
}

/** Makes the thumbnails of a folder and everything below, one folder after the other. */
const makeBelow = async (source: Source, start: SourcePath, progress: Thumbnails, signal: AbortSignal) => {
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
 * Makes missing and stale thumbnails, as listings would. Returns the exit status: 1 when some could not be
 * stored; undrawable pictures are only reported.
 * @throws UsageError, StartError, ConfigError
 */
export const makeThumbnails = async (command: PicturesCommand, signal: AbortSignal): Promise<number> => {
  const { config, hooks } = await readDefinition(command.config);
  const progress = new Thumbnails();
  const work = async (source: Source, folder: SourcePath): Promise<number> => {
    if (!source.settings.createThumb) throw new StartError(`createThumb is off for ${source.name}.`);
    await makeBelow(source, folder, progress, signal);
    return progress.counts.failed > 0 ? 1 : 0;
  };
  return workInSource(checkConfiguration(config, hooks), command, progress, work, signal);
};
