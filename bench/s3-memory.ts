import { randomBytes } from 'node:crypto';
import { makeBucket, optionsFor } from '../tools/test-servers/bucket.ts';
import { radosgwMissing, startOwnRadosgw } from '../tools/test-servers/radosgw.ts';
import { sendForm } from './form.ts';
import type { Measurement } from './measurement.ts';
import { rise } from './memory.ts';
import { withScratch } from './scratch.ts';
import { drain, withService, type Service } from './service.ts';

const GIGABYTE = 2 ** 30;
const SIZE = 2 * GIGABYTE;
const ALLOWED = 100;
const NAME = 'large.zip';
/** The server stores everything in memory, for a while also removed objects. */
const SERVER_BYTES = 7 * GIGABYTE;

const upload = async ({ url }: Service): Promise<void> => {
  const megabyte = randomBytes(2 ** 20);
  await sendForm(`${url}/fileUpload`, NAME, megabyte, { times: SIZE / megabyte.length });
};

const download = async ({ url }: Service): Promise<void> => {
  const bytes = await drain(`${url}/fileDownload?name=${NAME}`);
  if (bytes !== SIZE) throw new Error(`${String(bytes)} bytes arrived`);
};

/**
 * An upload of 2 GB to a source in a bucket (Ceph), in parts and as a new name in one stream, and a download
 * of it, each in a new process. Needs 8 GB of memory. Skipped without Ceph.
 */
export const s3Memory: Measurement = {
  name: 's3-memory',
  run: () =>
    withScratch(async (scratch) => {
      if (radosgwMissing !== undefined) return [];
      const server = await startOwnRadosgw({ bytes: SERVER_BYTES });
      const bucket = await makeBucket(server);
      const source = {
        title: 'Bucket',
        baseurl: 'http://127.0.0.1/files/',
        storageAdapter: 's3',
        s3: optionsFor(server, bucket.name),
      };
      const common = { maxUploadFileSize: '3gb', extensions: ['zip'], sources: { bucket: source } };
      const measure = (what: string, strategy: string, work: (service: Service) => Promise<void>) =>
        withService(
          scratch,
          scratch,
          async (service) => {
            // The SDK is loaded by the first request.
            await drain(`${service.url}/files`);
            return rise(service, what, () => work(service), ALLOWED);
          },
          { ...common, saveSameFileNameStrategy: strategy },
        );
      try {
        return [
          await measure('upload of 2 GB to S3, in parts', 'replace', upload),
          await measure('download of 2 GB from S3', 'replace', download),
          await measure('upload of 2 GB to S3, as a new name', 'addNumber', upload),
        ];
      } finally {
        bucket.client.destroy();
        await server.stop();
      }
    }),
};
