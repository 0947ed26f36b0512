import { SourcePath } from '../source-path.ts';
import type { StorageAdapter } from '../adapter.ts';
import { capabilityNames, capabilityTexts, type CapabilityName } from '../capabilities.ts';
import type { CaseContext, CaseDefinition, StorePromises, StoreUnderTest, Theme } from './case.ts';
import { abortTheme, faultTheme } from './cases/faults.ts';
import { capabilityTheme } from './cases/capabilities.ts';
import { folderTheme, removalTheme } from './cases/folders.ts';
import { listTheme, walkTheme } from './cases/list.ts';
import { meanwhileTheme } from './cases/meanwhile.ts';
import { nameTheme } from './cases/names.ts';
import { readTheme, statTheme } from './cases/read.ts';
import { stageTheme } from './cases/stage.ts';
import { copyTheme, moveTheme } from './cases/transfer.ts';
import { writeTheme } from './cases/write.ts';

const THEMES: readonly Theme[] = [
  capabilityTheme,
  statTheme,
  listTheme,
  walkTheme,
  readTheme,
  writeTheme,
  folderTheme,
  removalTheme,
  copyTheme,
  moveTheme,
  stageTheme,
  nameTheme,
  abortTheme,
  faultTheme,
  meanwhileTheme,
];

/** A case that a store may fail, with the reason. */
export interface SkippedCase {
  /** `theme: name` of the case, exactly. */
  readonly test: string;
  readonly reason: string;
}

/** Configuration of the suite for the store under test. */
export interface ConformanceOptions {
  /** Creates a fresh, empty store. Called once per case; cases may run concurrently. */
  readonly open: () => Promise<StoreUnderTest> | StoreUnderTest;
  /**
   * Whether the backend can hold names that no path can, so that `open` returns `plant`. Default: false; the
   * cases about such names are then skipped.
   */
  readonly plants?: boolean;
  /**
   * Promises of every store that `open` creates. They select the cases; a store whose `capabilities` differ
   * from them fails. Missing ones are taken from the `capabilities` of each store.
   */
  readonly promises?: StorePromises;
  /** Time in milliseconds after which a case fails as hanging. Default: 30,000. */
  readonly timeLimitMs?: number;
  /** Cases to skip. Each needs a reason, which is printed. */
  readonly skip?: readonly SkippedCase[];
}

/** A case that is ready to run. */
export interface ConformanceCase {
  readonly theme: string;
  /** A sentence of the contract. */
  readonly name: string;
  /** The reason for skipping the case; undefined when it is not skipped. */
  readonly skipReason: string | undefined;
  /** Rejects when the store violates the sentence. Creates and removes its own store. */
  readonly run: () => Promise<void>;
}

/** The part of a test framework that the suite needs; compatible with vitest, node:test, mocha and jest. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: ((name: string, body: () => Promise<void>) => unknown) & {
    readonly skip: (name: string, body: () => Promise<void>) => unknown;
  };
}

const missingPlant = (): Promise<never> =>
  Promise.reject(new TypeError('This store was opened without `plant`.'));

const DEFAULT_TIME_LIMIT_MS = 30_000;

/** Fails the case when the store never responds, whatever the framework does about hanging tests. */
const withinLimit = async (checking: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the store did not respond within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([checking, tooLong]);
  } finally {
    clearTimeout(timer);
  }
};

/** The promises in the options, else those of the store, which may detect them during a case. */
const promisesOf = (adapter: StorageAdapter, declared: StorePromises): CaseContext['promises'] => {
  const isPromised = (name: CapabilityName): boolean =>
    declared[name] ?? adapter.capabilities[name] ?? name === 'emptyFolders';
  const getters = capabilityNames.map((name) => [name, { get: () => isPromised(name) }] as const);
  return Object.defineProperties({}, Object.fromEntries(getters)) as CaseContext['promises'];
};

const runCase = async (options: ConformanceOptions, definition: CaseDefinition): Promise<void> => {
  const { adapter, cleanup, plant, another } = await options.open();
  const other = definition.races === true ? await another?.() : undefined;
  try {
    const declared = options.promises ?? {};
    const promises = promisesOf(adapter, declared);
    if (definition.needs !== undefined && !promises[definition.needs]) return;
    const context = {
      adapter,
      other: other ?? adapter,
      promises,
      declared,
      plant: plant ?? missingPlant,
      at: (text: string) => SourcePath.parse(text),
    };
    await withinLimit(definition.check(context), options.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS);
  } finally {
    try {
      await other?.close?.();
      await adapter.close?.();
    } finally {
      await cleanup?.();
    }
  }
};

const readSkips = (skips: readonly SkippedCase[]): ReadonlyMap<string, string> => {
  const known = new Set(THEMES.flatMap(({ theme, cases }) => cases.map(({ name }) => `${theme}: ${name}`)));
  for (const { test, reason } of skips) {
    if (!known.has(test)) throw new TypeError(`There is no case "${test}" to skip.`);
    if (reason.trim() === '') throw new TypeError(`Skipping "${test}" needs a reason.`);
  }
  return new Map(skips.map(({ test, reason }) => [test, reason]));
};

/** The reason why the case does not apply to this store; undefined when it does. */
const missingFor = ({ plants, needs }: CaseDefinition, options: ConformanceOptions): string | undefined => {
  if (plants === true && options.plants !== true) return 'the backend cannot hold such names';
  return needs !== undefined && options.promises?.[needs] === false
    ? `not promised: ${capabilityTexts[needs]}`
    : undefined;
};

/**
 * The conformance suite of the storage port as a list of cases, for any test runner.
 * @throws TypeError when `skip` names a case that does not exist or has no reason
 */
export const storageConformance = (options: ConformanceOptions): readonly ConformanceCase[] => {
  const skips = readSkips(options.skip ?? []);
  return THEMES.flatMap(({ theme, cases }) =>
    cases.map((definition) => ({
      theme,
      name: definition.name,
      skipReason: skips.get(`${theme}: ${definition.name}`) ?? missingFor(definition, options),
      run: () => runCase(options, definition),
    })),
  );
};

/**
 * Declares the conformance suite in a test framework. A skipped case stays in the report, with the reason in
 * its title.
 * @param title the subject of the tests: `the drive adapter`
 * @throws TypeError as storageConformance
 */
export const describeStorageConformance = (
  framework: TestFramework,
  title: string,
  options: ConformanceOptions,
): void => {
  const cases = storageConformance(options);
  framework.describe(title, () => {
    for (const theme of new Set(cases.map((one) => one.theme))) {
      framework.describe(theme, () => {
        for (const one of cases.filter((each) => each.theme === theme)) {
          if (one.skipReason === undefined) framework.it(one.name, one.run);
          else framework.it.skip(`${one.name} (skipped: ${one.skipReason})`, one.run);
        }
      });
    }
  });
};
