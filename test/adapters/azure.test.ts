import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeStorageConformance, type StoreUnderTest } from 'stowage/testing';
import { AzureAdapter, capabilitiesOf, parseAzureOptions } from '#internals';
import { describeThemes, inTurn, withoutFaults } from './further-servers.ts';
import {
  azuriteMissing,
  makeContainer,
  startAzurite,
  type Azurite,
  type PlainContainer,
} from '../../tools/test-servers/azurite.ts';

const promises = { ...capabilitiesOf('azure'), temporaryUrls: true };

const sideBySide = { describe: describeThemes('Azurite', withoutFaults), it: inTurn(0) };

describe.skipIf(azuriteMissing !== undefined)(
  `the azure adapter on Azurite${azuriteMissing === undefined ? '' : ` (skipped: ${azuriteMissing})`}`,
  () => {
    let server: Azurite;
    let container: PlainContainer;

    beforeAll(async () => {
      server = await startAzurite();
      container = await makeContainer(server);
    });
    afterAll(() => server?.stop());

    const openStore = async (): Promise<StoreUnderTest> => {
      const prefix = randomUUID();
      const { accountUrl, accountKey } = server;
      const parsed = parseAzureOptions({ container: container.name, accountUrl, accountKey, prefix });
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const another = () => new AzureAdapter(parsed.value);
      // Azure takes a backslash for a slash, and Azurite cannot list control characters: another character that
      // no path can hold is in their places.
      const plant = (name: string) =>
        container.put(`${prefix}/${name.replaceAll(/[\\\p{Cc}]/gu, '\u202e')}`, 'planted');
      return { adapter: another(), another, plant };
    };

    describeStorageConformance(sideBySide, 'Azurite', { open: openStore, plants: true, promises });
  },
);
