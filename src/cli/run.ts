import { ConfigError } from '../errors/errors.ts';
import { createLineLogger, type Logger } from '../log/logger.ts';
import { readAddress } from './address.ts';
import { help, parseCommand, UsageError, type Command } from './arguments.ts';
import type { Environment } from './environment.ts';
import { readConfig } from './read-config.ts';
import { serve, StartError, type Service } from './serve.ts';
import { readVersion } from '../version.ts';

/** What a command needs of the world around it. */
export interface World {
  readonly environment: Environment;
  /** Builds the service from a configuration as written. Rejects with ConfigError. */
  readonly createService: (config: unknown, log: Logger) => Promise<Service>;
  /** Checks a configuration as written and writes its warnings to the log; opens nothing. Rejects with ConfigError. */
  readonly checkConfiguration: (config: unknown, log: Logger) => Promise<void>;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

const checkConfig = async (file: string | undefined, world: World): Promise<void> => {
  const config = await readConfig(file, world.environment);
  const log = createLineLogger((line) => {
    const { message } = JSON.parse(line) as { readonly message: string };
    world.print(`Note: ${message}\n`);
  });
  await world.checkConfiguration(config, log);
  world.print('The configuration is valid.\n');
};

const execute = async (command: Command, world: World): Promise<void> => {
  switch (command.name) {
    case 'help':
      world.print(help);
      return;
    case 'version':
      world.print(`${readVersion()}\n`);
      return;
    case 'check-config':
      return checkConfig(command.config, world);
    case 'serve': {
      const address = readAddress(command, world.environment);
      const log = createLineLogger(world.complain);
      const config = await readConfig(command.config, world.environment);
      return serve(await world.createService(config, log), address, log);
    }
  }
};

/** Does what the words after the program's name ask for. Returns the exit status: 0 fine, 1 failed, 2 wrong words. */
export const run = async (words: readonly string[], world: World): Promise<number> => {
  try {
    await execute(parseCommand(words), world);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      world.complain(`${error.message}\nTry: stowage --help\n`);
      return 2;
    }
    const expected = error instanceof ConfigError || error instanceof StartError;
    world.complain(`${expected ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    return 1;
  }
};
