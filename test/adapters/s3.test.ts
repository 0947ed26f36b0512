import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeStorageConformance, withFaults, type StoreUnderTest } from 'stowage/testing';
import { S3Adapter } from '../../dist/adapters/s3/adapter.js';
import { KnownServices } from '../../dist/adapters/s3/conditional-writes.js';
import { parseS3Options } from '../../dist/adapters/s3/options.js';
import { SourcePath } from '../../dist/storage/source-path.js';
import { radosgwMissing, startRadosgw, type Radosgw } from './servers/radosgw.ts';

const BUCKET = 'conformance';

const learn = async (adapter: S3Adapter): Promise<void> => {
  const path = SourcePath.parse('learning');
  await adapter.write(path, Readable.from(['x'], { objectMode: false }), { createOnly: true });
  await adapter.removeFile(path);
};

describe.skipIf(radosgwMissing !== undefined)(
  `the s3 adapter on Ceph${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let client: S3Client;
    const services = new KnownServices();

    beforeAll(async () => {
      server = await startRadosgw();
      client = new S3Client({
        endpoint: server.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        // The SDK writes into the object that it is given.
        credentials: { ...server.credentials },
        requestChecksumCalculation: 'WHEN_REQUIRED',
      });
      await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    });
    afterAll(async () => {
      client.destroy();
      await server.stop();
    });

    const openStore = async (): Promise<StoreUnderTest> => {
      const prefix = randomUUID();
      const parsed = parseS3Options({
        bucket: BUCKET,
        endpoint: server.endpoint,
        forcePathStyle: true,
        credentials: server.credentials,
        prefix,
      });
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value, undefined, services);
      // What a service can is learnt at the first conditional write; cases ask before.
      if (!adapter.capabilities.atomicCreate) await learn(adapter);
      return {
        adapter,
        plant: async (name) => {
          await client.send(
            new PutObjectCommand({ Bucket: BUCKET, Key: `${prefix}/${name}`, Body: 'planted' }),
          );
        },
      };
    };

    describeStorageConformance({ describe, it }, 'directly', { open: openStore, plants: true });
    describeStorageConformance({ describe, it }, 'through a decorator without faults', {
      open: async () => {
        const store = await openStore();
        return { ...store, adapter: withFaults(store.adapter, []) };
      },
      plants: true,
    });
  },
);
