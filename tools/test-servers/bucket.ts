import { randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { Radosgw } from './radosgw.ts';

/** Direct access to a bucket, without the adapter. */
export interface PlainBucket {
  readonly name: string;
  readonly client: S3Client;
  put(key: string, body: string | Uint8Array): Promise<void>;
  head(key: string): Promise<Readonly<Record<string, unknown>>>;
  /** Keys with this prefix, without it, sorted. */
  keys(prefix: string): Promise<string[]>;
  /** Keys of multipart uploads that were neither completed nor aborted. */
  uploads(prefix: string): Promise<string[]>;
  /** Starts a multipart upload. */
  beginUpload(key: string): Promise<BegunUpload>;
  addPart(upload: BegunUpload, body: string): Promise<void>;
  giveUp(upload: BegunUpload): Promise<void>;
}

/** A multipart upload as requests identify it. */
export interface BegunUpload {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string;
}

/** Adapter options for a bucket of this server, optionally with another endpoint. */
export const optionsFor = (
  { endpoint, credentials }: Pick<Radosgw, 'endpoint' | 'credentials'>,
  bucket: string,
  more: Readonly<Record<string, unknown>> = {},
) => ({
  bucket,
  endpoint,
  forcePathStyle: true,
  // The SDK modifies the object.
  credentials: { ...credentials },
  ...more,
});

/** Creates a new bucket. */
export const makeBucket = async (
  server: Radosgw,
  name: string = `b-${randomUUID()}`,
): Promise<PlainBucket> => {
  const client = new S3Client({
    endpoint: server.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { ...server.credentials },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  await client.send(new CreateBucketCommand({ Bucket: name }));
  return {
    name,
    client,
    put: async (Key, Body) => {
      await client.send(new PutObjectCommand({ Bucket: name, Key, Body }));
    },
    head: async (Key) => ({ ...(await client.send(new HeadObjectCommand({ Bucket: name, Key }))) }),
    keys: async (Prefix) => {
      const keys: string[] = [];
      let ContinuationToken: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({
            Bucket: name,
            Prefix,
            ...(ContinuationToken === undefined ? {} : { ContinuationToken }),
          }),
        );
        keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key.slice(Prefix.length)));
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
      return keys.sort();
    },
    uploads: async (Prefix) => {
      const answer = await client.send(new ListMultipartUploadsCommand({ Bucket: name, Prefix }));
      return (answer.Uploads ?? []).map(({ Key = '' }) => Key.slice(Prefix.length));
    },
    beginUpload: async (Key) => {
      const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand({ Bucket: name, Key }));
      return { Bucket: name, Key, UploadId };
    },
    addPart: async (upload, Body) => {
      await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body }));
    },
    giveUp: async (upload) => {
      await client.send(new AbortMultipartUploadCommand(upload));
    },
  };
};
