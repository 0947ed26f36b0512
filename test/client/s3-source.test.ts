import { PutBucketPolicyCommand } from '@aws-sdk/client-s3';
import { afterAll, describe } from 'vitest';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Radosgw } from '../../tools/test-servers/radosgw.ts';
import { chromium, needsChromium } from './chromium.ts';
import { useClient } from './client.ts';
import { describeWholeJob, firstFiles } from './whole-job.ts';

const prefix = 'media/photos';
const needsCeph = radosgwMissing === undefined ? '' : ` [left out: ${radosgwMissing}]`;

/** Everybody may read the objects, as the browser does. */
const openToReaders = async ({ client, name }: PlainBucket): Promise<void> => {
  const Statement = [
    { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${name}/*` },
  ];
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
  await client.send(new PutBucketPolicyCommand({ Bucket: name, Policy }));
};

describe.skipIf(chromium === undefined || radosgwMissing !== undefined)(
  `The real client on a source in a bucket${needsChromium}${needsCeph}`,
  () => {
    let server: Radosgw | undefined;
    let bucket: PlainBucket | undefined;
    let baseurl = '';

    const client = useClient({
      stock: true,
      config: async () => {
        server = await startRadosgw();
        bucket = await makeBucket(server);
        await openToReaders(bucket);
        for (const [name, content] of Object.entries(await firstFiles())) {
          await bucket.put(`${prefix}/${name}`, content);
        }
        baseurl = `${server.endpoint}/${bucket.name}/${prefix}/`;
        const s3 = optionsFor(server, bucket.name, { prefix });
        return { sources: { photos: { title: 'Photos', baseurl, storageAdapter: 's3', s3 } } };
      },
    });
    afterAll(async () => {
      bucket?.client.destroy();
      await server?.stop();
    });

    describeWholeJob(client, () => ({
      baseurl,
      paths: async () =>
        ((await bucket?.keys(`${prefix}/`)) ?? []).filter((key) => !key.includes('_thumbs/')),
    }));
  },
);
