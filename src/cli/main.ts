#!/usr/bin/env node
import type { ConfigInput } from '../config/types.ts';
import { createApp } from '../index.ts';
import { run } from './run.ts';

const status = await run(process.argv.slice(2), {
  environment: process.env,
  // createApp checks every key and value of what was read.
  createService: (config, logger) => createApp(config as ConfigInput | undefined, {}, { logger }),
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
// A thread or a browser that outlives the service must not keep the process.
process.exit(status);
