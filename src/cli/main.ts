#!/usr/bin/env node
import type { ConfigInput } from '../config/types.ts';
import { quietSdk } from './environment.ts';
import { run } from './run.ts';

quietSdk(process.env);
const status = await run(process.argv.slice(2), {
  environment: process.env,
  createService: async (config, logger) => {
    // Loaded when needed: help and wrong words are answered without the weight of the service.
    const { createApp } = await import('../index.ts');
    // createApp checks every key and value of what was read.
    return createApp(config as ConfigInput | undefined, {}, { logger });
  },
  checkConfiguration: async (config, logger) => {
    const { checkConfiguration } = await import('../connector.ts');
    checkConfiguration(config as ConfigInput | undefined, logger);
  },
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
// A thread or a browser that outlives the service must not keep the process.
process.exit(status);
