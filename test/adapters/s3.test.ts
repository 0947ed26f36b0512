import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeStorageConformance, type StoreUnderTest } from 'stowage/testing';
import { capabilitiesOf, KnownServices, S3Adapter, parseS3Options } from '#internals';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Radosgw } from '../../tools/test-servers/radosgw.ts';

const promises = { ...capabilitiesOf('s3'), atomicCreate: true, ifMatch: true };

// Cases have stores of their own, and mostly wait for the server: five at once.
const sideBySide = {
  describe,
  it: Object.assign((name: string, body: () => Promise<void>) => it.concurrent(name, body), {
    skip: it.skip,
  }),
};

describe.skipIf(radosgwMissing !== undefined)(
  `the s3 adapter on Ceph${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let bucket: PlainBucket;
    const services = new KnownServices();

    beforeAll(async () => {
      server = await startRadosgw();
      bucket = await makeBucket(server);
    });
    afterAll(async () => {
      bucket?.client.destroy();
      await server?.stop();
    });

    const openStore = async (): Promise<StoreUnderTest> => {
      const prefix = randomUUID();
      const parsed = parseS3Options(optionsFor(server, bucket.name, { prefix }));
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const openOne = () => new S3Adapter(parsed.value, undefined, services);
      return {
        adapter: openOne(),
        another: openOne,
        plant: (name) => bucket.put(`${prefix}/${name}`, 'planted'),
      };
    };

    describeStorageConformance(sideBySide, 'Ceph', { open: openStore, plants: true, promises });
  },
);
