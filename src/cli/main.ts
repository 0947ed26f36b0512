#!/usr/bin/env node
import { ConfigError } from '../errors/errors.ts';
import { createStderrLogger } from '../log/logger.ts';
import { readVersion } from '../version.ts';
import { help, parseCommand, UsageError, type Command } from './arguments.ts';
import { defineFolder, hintFor } from './folder.ts';
import { createHealth } from './health.ts';
import { Metrics } from './metrics.ts';
import { missingPackages, packagesOf } from './packages.ts';
import { readDefinition } from './read-config.ts';
import { parsePort, readAddress, serve, StartError } from './serve.ts';

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const complain = (text: string): boolean => process.stderr.write(`${text}\n`);

const runService = async (command: Extract<Command, { readonly name: 'serve' }>): Promise<void> => {
  const address = readAddress(command);
  const { folder, healthPort } = command;
  const healthAddress =
    healthPort === undefined
      ? undefined
      : { host: address.host, port: parsePort('--health-port', healthPort) };
  const { config, hooks, logger } =
    folder === undefined ? await readDefinition(command.config) : await defineFolder(folder, address);
  const log = logger ?? createStderrLogger();
  const { createApp } = await import('../app.ts');
  const metrics = healthAddress === undefined ? undefined : new Metrics();
  const app = createApp(config, hooks, { logger: log, observe: metrics?.observe });
  const health =
    healthAddress === undefined || metrics === undefined
      ? undefined
      : { server: createHealth(metrics, () => app.unavailableSources()), address: healthAddress };
  const announce = (url: string): void => {
    if (folder !== undefined) print(hintFor(folder, url));
  };
  await serve(app, address, log, { announce, health });
};

/**
 * Does what the command line asks for. The service is loaded when needed: help and mistakes are answered
 * without its weight. Returns the exit status.
 */
const execute = async (command: Command): Promise<number> => {
  if (command.name === 'help') {
    (command.isMissing ? complain : print)(help.trimEnd());
    return command.isMissing ? 2 : 0;
  }
  if (command.name === 'version') print(readVersion());
  else if (command.name === 'serve') await runService(command);
  else {
    const { config, hooks } = await readDefinition(command.config);
    const { checkConfiguration } = await import('../connector.ts');
    const checked = checkConfiguration(config, hooks);
    if (command.name === 'explain') {
      const { explain } = await import('./explain.ts');
      print(explain(command, checked));
      return 0;
    }
    for (const warning of checked.warnings) print(`Note: ${warning}`);
    const missing = missingPackages(packagesOf(checked.config));
    for (const one of missing) complain(`Missing: ${one}`);
    if (missing.length > 0) return 1;
    print('The configuration is valid.');
  }
  return 0;
};

/** Runs the words after the program's name. Returns the exit status. */
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

// Otherwise the AWS SDK prints advice about the version of Node.js between the lines of the log.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
// A thread or a browser that outlives the service must not keep the process.
process.exit(await run(process.argv.slice(2)));
