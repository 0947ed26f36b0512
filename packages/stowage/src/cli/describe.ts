import { randomUUID } from 'node:crypto';
import { EVERYTHING } from '../access/access.ts';
import { groupsOf } from '../actions/search/search-about.ts';
import { inParallel } from '../basics/concurrency/queues.ts';
import { createSilentLogger, type Logger } from '../basics/log/logger.ts';
import { carryOut } from '../changes/carry-out.ts';
import type { ChangeContext } from '../changes/change.ts';
import { describePicture, DESCRIBER, isPicture } from '../changes/describing.ts';
import { checkConfiguration } from '../checked-configuration.ts';
import { StowageError } from '../errors/errors.ts';
import { DESCRIBED_AT_ONCE } from '../operations/describing/describer.ts';
import { createState } from '../operations/state/create-state.ts';
import { closeInOrder, createServices, inspectionSettings } from '../services.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { SourceViews } from '../view/source-views.ts';
import { readDefinition } from './read-config.ts';
import { StartError } from './serve.ts';
import { type PicturesCommand, Progress, workInSource } from './source-work.ts';

/** The command stops after this many failures in a row: they would repeat for every picture. */
const MOST_FAILURES_IN_A_ROW = 10;

class Descriptions extends Progress {
  readonly #counts = { described: 0, had: 0, nothing: 0, failed: 0 };
  #failuresInARow = 0;

  get failed(): number {
    return this.#counts.failed;
  }

  skip(pictures: number): void {
    this.#counts.had += pictures;
  }

  add(path: SourcePath, isDescribed: boolean): void {
    this.#counts[isDescribed ? 'described' : 'nothing'] += 1;
    this.#failuresInARow = 0;
    this.show(path);
  }

  /** @throws StartError after too many in a row */
  fail(path: SourcePath, error: unknown): void {
    this.#counts.failed += 1;
    this.#failuresInARow += 1;
    const detail = error instanceof StowageError ? error.detail : undefined;
    const why = detail ?? (error instanceof Error ? error.message : String(error));
    this.say(`could not be described: ${path.toString()}: ${why}`);
    if (this.#failuresInARow === MOST_FAILURES_IN_A_ROW)
      throw new StartError(`${String(MOST_FAILURES_IN_A_ROW)} in a row failed (${this.summary()}).`);
  }

  summary(): string {
    const { described, had, nothing, failed } = this.#counts;
    const rest = failed === 0 ? '' : `, ${String(failed)} could not be described`;
    return `${String(described)} described, ${String(had)} had a text, ${String(nothing)} got none${rest}`;
  }
}

const describeOne = async (
  context: ChangeContext,
  view: SourceView,
  path: SourcePath,
  progress: Descriptions,
): Promise<void> => {
  try {
    progress.add(path, await describePicture(context, view, path, (change) => carryOut(context, change)));
  } catch (error) {
    context.signal.throwIfAborted();
    progress.fail(path, error);
  }
};

/** Describes the pictures below a folder that have no alternative text, in the order of a walk. */
const describeBelow = async (
  context: ChangeContext,
  source: Source,
  folder: SourcePath,
  progress: Descriptions,
): Promise<void> => {
  const { signal, services } = context;
  const view = await new SourceViews({ all: [source], find: () => source }, EVERYTHING, { signal }).of(
    source,
  );
  await view.requireFolder(folder);
  const isWanted = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
    kind === 'file' && isPicture(source, name);
  const walk = { key: 'FILES', detail: 'names', words: [], most: Infinity, isWanted } as const;
  await inParallel(DESCRIBED_AT_ONCE, async (add) => {
    for await (const { found } of view.walk(folder, walk))
      for (const { folder: here, found: pictures, entries } of groupsOf(found)) {
        const abouts = await view.folder(here).abouts(services.about, entries);
        const missing = pictures.filter((_, index) => abouts[index]?.alt === undefined);
        progress.skip(pictures.length - missing.length);
        for (const { path } of missing) await add(() => describeOne(context, view, path, progress));
      }
  });
};

/**
 * Calls the hook for pictures without alternative text. `onEvent`, `beforeEvent` and the audit file receive
 * the changes, webhooks do not. Returns the exit status: 1 when some could not be described.
 * @throws UsageError, StartError, ConfigError
 */
export const describePictures = async (command: PicturesCommand, signal: AbortSignal): Promise<number> => {
  const { config: written, hooks = {} } = await readDefinition(command.config);
  const checked = checkConfiguration(written, hooks);
  if (hooks.describePicture === undefined)
    throw new StartError(
      'describe needs the hook describePicture: --config with a module that exports { config, hooks }.',
    );
  const progress = new Descriptions();
  const say = (message: string): void => progress.say(message);
  const log: Logger = { ...createSilentLogger(), warn: say, error: say };
  const { audit } = checked.config.settings;
  const settings = { ...inspectionSettings(checked.config.settings), audit };
  const { state } = createState(settings, log);
  const services = createServices(settings, hooks, state, log);
  const requester = { requestId: randomUUID(), ...DESCRIBER };
  const holdSources = () => (): void => undefined;
  const work = async (source: Source, folder: SourcePath): Promise<number> => {
    try {
      await describeBelow({ requester, services, log, holdSources, signal }, source, folder, progress);
      return progress.failed > 0 ? 1 : 0;
    } finally {
      await closeInOrder(services, [], state, { stores: [], log });
    }
  };
  return workInSource(checked, command, progress, work, signal);
};
