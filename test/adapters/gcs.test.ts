import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeStorageConformance, type StoreUnderTest } from 'stowage/testing';
import { GcsAdapter, capabilitiesOf, parseGcsOptions } from '#internals';
import { describeThemes, inTurn, withoutFaults } from './further-servers.ts';
import { startGcs, type GcsServer } from '../../tools/test-servers/gcs-login.ts';

const promises = { ...capabilitiesOf('gcs'), temporaryUrls: true };

const sideBySide = { describe: describeThemes('an emulator', withoutFaults), it: inTurn(1) };

describe('the gcs adapter', () => {
  let server: GcsServer;

  beforeAll(async () => {
    server = await startGcs('conformance');
  });
  afterAll(() => server?.stop());

  const openStore = async (): Promise<StoreUnderTest> => {
    const prefix = randomUUID();
    const { credentialsFile, emulator } = server;
    const parsed = parseGcsOptions({
      bucket: emulator.bucket,
      endpoint: emulator.endpoint,
      credentialsFile,
      prefix,
    });
    if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
    const another = () => new GcsAdapter(parsed.value);
    return {
      adapter: another(),
      another,
      plant: async (name) => void emulator.put(`${prefix}/${name}`, 'planted'),
    };
  };

  describeStorageConformance(sideBySide, 'an emulator', { open: openStore, plants: true, promises });
});
