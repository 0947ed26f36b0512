import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/long-files-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // How long expect.poll waits at most: a busy machine is no failure.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Node loads the built package itself, as it does for everybody else; that is also half of the time of an import.
    server: { deps: { external: [/\/dist\/[^/]+\.js$/u] } },
    // Many tests wait for servers and browsers: on two cores a third worker uses that time.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
  },
});
