import { shareServers } from '../tools/test-servers/shared.ts';

/** Vitest calls it before the test files of a run, and what it returns after them. */
export const setup = () =>
  shareServers({
    chromium: async () => (await import('../tools/test-servers/chromium.ts')).startOwnChromium(),
    azurite: async () => (await import('../tools/test-servers/azurite.ts')).startOwnAzurite(),
    archives: async () => (await import('./package/archives.ts')).packAll(),
    radosgw: async () => (await import('../tools/test-servers/radosgw.ts')).startOwnRadosgw(),
  });
