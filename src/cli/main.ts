#!/usr/bin/env node
import type { ConfigInput } from '../config/types.ts';
import { ConfigError } from '../errors/errors.ts';
import { createLineLogger } from '../log/logger.ts';
import { readVersion } from '../version.ts';
import { help, parseCommand, UsageError, type Command } from './arguments.ts';
import { readConfig } from './read-config.ts';
import { readAddress, serve, StartError } from './serve.ts';

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const complain = (text: string): boolean => process.stderr.write(`${text}\n`);

/** The configuration as written; whoever takes it checks every key and value of it. */
const configFor = async (file: string | undefined): Promise<ConfigInput | undefined> =>
  (await readConfig(file)) as ConfigInput | undefined;

/**
 * Does what the command line asks for. The service is loaded when needed: help and mistakes are answered
 * without its weight.
 */
const execute = async (command: Command): Promise<void> => {
  if (command.name === 'help') print(help.trimEnd());
  else if (command.name === 'version') print(readVersion());
  else if (command.name === 'serve') {
    const address = readAddress(command);
    const logger = createLineLogger((line) => process.stderr.write(line));
    const config = await configFor(command.config);
    const { createApp } = await import('../app.ts');
    await serve(createApp(config, {}, { logger }), address, logger);
  } else {
    const config = await configFor(command.config);
    const { checkConfiguration } = await import('../connector.ts');
    const checked = checkConfiguration(config);
    if (command.name === 'explain') {
      const { explain } = await import('./explain.ts');
      print(explain(command, checked));
      return;
    }
    for (const warning of checked.warnings) print(`Note: ${warning}`);
    print('The configuration is valid.');
  }
};

/** Runs the words after the program's name. Returns the exit status. */
const run = async (words: readonly string[]): Promise<number> => {
  try {
    await execute(parseCommand(words));
    return 0;
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
