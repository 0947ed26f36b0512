#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import { riskLine } from '../config/risks/value-risks.ts';
import { ConfigError } from '../errors/errors.ts';
import { createStderrLogger } from '../basics/log/logger.ts';
import { readVersion } from '../version.ts';
import { type Command, help, type Options, parseCommand, UsageError } from './arguments.ts';
import type { PicturesCommand } from './source-work.ts';
import {
  createEnd,
  defineFolder,
  hintFor,
  onStop,
  parsePort,
  readAddress,
  serve,
  StartError,
} from './serve.ts';
import { createHealth, Metrics } from './health.ts';
import { readDefinition } from './read-config.ts';

/** The file that `init` writes. Commands read it only when it is named. */
const DEFAULT_FILE = 'stowage.json';

/** Time to check the disks of the sources; after it the configuration is checked without them. */
const DISK_MS = 5000;

/** Exit status of a process that was ended by Ctrl+C, by convention. */
const INTERRUPTED = 130;

/** Runs work that a signal aborts; a later one ends the process. Returns the status, 130 if aborted. */
export const interruptible = async (work: (signal: AbortSignal) => Promise<number>): Promise<number> => {
  const controller = new AbortController();
  const ignore = onStop(() => controller.abort());
  // Time limits do not keep the process alive, nor does a hook that waits for nothing.
  const alive = setInterval(() => undefined, 60_000);
  try {
    const status = await work(controller.signal);
    return controller.signal.aborted ? INTERRUPTED : status;
  } catch (error) {
    if (controller.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    clearInterval(alive);
    ignore();
  }
};

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const complain = (text: string): boolean => process.stderr.write(`${text}\n`);

const runService = async ([folder]: readonly string[], options: Options): Promise<void> => {
  const address = readAddress(options);
  const healthPort = options['health-port'];
  const healthAddress =
    healthPort === undefined
      ? undefined
      : { host: address.host, port: parsePort('--health-port', healthPort) };
  const { config, hooks, logger } =
    folder === undefined ? await readDefinition(options.config) : await defineFolder(folder, address);
  const log = logger ?? createStderrLogger();
  if (folder === undefined && config === undefined && existsSync(DEFAULT_FILE))
    log.warn(`${DEFAULT_FILE} of this folder is not read: name it, --config ${DEFAULT_FILE}`);
  const { createApp } = await import('../app.ts');
  const metrics = healthAddress === undefined ? undefined : new Metrics();
  const app = createApp(config, hooks, { logger: log, observe: metrics?.observe });
  const health =
    healthAddress === undefined || metrics === undefined
      ? undefined
      : { server: createHealth(metrics, app), address: healthAddress };
  const announce = (url: string): void => {
    if (folder !== undefined) print(hintFor(folder, url));
  };
  await serve(app, address, log, { announce, health });
};

const checkConfig = async ({ config: file }: Options): Promise<number> => {
  const { config, hooks } = await readDefinition(file);
  const { checkConfiguration } = await import('../checked-configuration.ts');
  const { missingPackages, packagesOf } = await import('../checked-configuration.ts');
  const { risksOnDisk } = await import('../config/risks/setting-risks.ts');
  const checked = checkConfiguration(config, hooks);
  const { warnings, unused } = checked;
  const onDisk = await inTimeLimit(DISK_MS, undefined, (late) =>
    orAborted(risksOnDisk(checked.config), late),
  ).catch(() => {
    complain('A disk of the sources hangs: stowage doctor says which.');
    return [];
  });
  const risks = [...checked.risks, ...onDisk];
  for (const warning of [...warnings, ...risks.map(riskLine)]) print(`Note: ${warning}`);
  for (const key of unused) print(`Note: ${key} is accepted for compatibility and has no effect.`);
  const missing = missingPackages(packagesOf(checked.config));
  for (const one of missing) complain(`Missing: ${one}`);
  if (missing.length > 0) return 1;
  print('The configuration is valid.');
  return 0;
};

const runExplain = async (words: readonly string[], options: Options): Promise<number> => {
  const { config, hooks } = await readDefinition(options.config);
  const { checkConfiguration } = await import('../checked-configuration.ts');
  const { explain } = await import('./explain.ts');
  const [role = '', action = '', path = ''] = words;
  print(explain({ role, action, path }, checkConfiguration(config, hooks)));
  return 0;
};

const runDoctor = async (options: Options): Promise<number> => {
  const { config, 'page-origin': pageOrigin, url, 'form-size': formSize } = options;
  const { examineService } = await import('./doctor/doctor.ts');
  const { countBroken, report } = await import('./doctor/finding.ts');
  return interruptible(async (signal) => {
    const findings = await examineService({ config, pageOrigin, url, formSize }, signal);
    const broken = countBroken(findings);
    print(options.json === true ? JSON.stringify({ broken, findings }, null, 2) : report(findings));
    return broken > 0 ? 1 : 0;
  });
};

const picturesOf = ([source = '', folder = '']: readonly string[], { config }: Options): PicturesCommand => ({
  config,
  source,
  folder,
});

/** Runs the command; returns the exit status. Help and usage errors load no service. */
const execute = async ({ name, words, options }: Command): Promise<number> => {
  switch (name) {
    case 'help':
      (options.help === true ? print : complain)(help.trimEnd());
      return options.help === true ? 0 : 2;
    case 'version':
      print(readVersion());
      return 0;
    case 'serve':
      await runService(words, options);
      return 0;
    case 'check-config':
      return checkConfig(options);
    case 'explain':
      return runExplain(words, options);
    case 'doctor':
      return runDoctor(options);
    case 'init': {
      const { writeConfiguration } = await import('./init/init.ts');
      return writeConfiguration(options.yes ?? false);
    }
    case 'thumbs': {
      const { makeThumbnails } = await import('./thumbs.ts');
      return interruptible((signal) => makeThumbnails(picturesOf(words, options), signal));
    }
    case 'describe': {
      const { describePictures } = await import('./describe.ts');
      return interruptible((signal) => describePictures(picturesOf(words, options), signal));
    }
  }
};

const run = async (words: readonly string[]): Promise<number> => {
  try {
    return await execute(parseCommand(words));
  } catch (error) {
    if (error instanceof UsageError) {
      complain(`${error.message}\nTry: stowage --help`);
      return 2;
    }
    const isExpected = error instanceof ConfigError || error instanceof StartError;
    complain(isExpected ? error.message : String(error instanceof Error ? error.stack : error));
    return 1;
  }
};

// Otherwise the AWS SDK prints advice about the version of Node.js among the lines of the log.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
// A remaining thread or browser must not keep the process alive.
const end = createEnd();
await end(await run(process.argv.slice(2)));
