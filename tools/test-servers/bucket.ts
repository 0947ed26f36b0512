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

/** A plain view of a bucket, past the adapter. */
export interface PlainBucket {
  readonly name: string;
  readonly client: S3Client;
  put(key: string, body: string | Uint8Array): Promise<void>;
  head(key: string): Promise<Readonly<Record<string, unknown>>>;
  /** Every key that begins so, without that beginning, sorted. */
  keys(prefix: string): Promise<string[]>;
  /** Keys of multipart uploads that were neither completed nor given up. */
  uploads(prefix: string): Promise<string[]>;
  /** Begins an upload in parts. */
  beginUpload(key: string): Promise<BegunUpload>;
  addPart(upload: BegunUpload, body: string): Promise<void>;
  giveUp(upload: BegunUpload): Promise<void>;
}

/** An upload in parts as requests name it. */
export interface BegunUpload {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string;
}

/** Options of the adapter for a bucket of this server, reached at another address if need be. */
export const optionsFor = (
  { endpoint, credentials }: Pick<Radosgw, 'endpoint' | 'credentials'>,
  bucket: string,
  more: Readonly<Record<string, unknown>> = {},
) => ({
  bucket,
  endpoint,
  forcePathStyle: true,
  // The SDK writes into the object that it is given.
  credentials: { ...credentials },
  ...more,
});

/** Makes a bucket of its own. */
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
