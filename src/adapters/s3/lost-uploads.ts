import type { Bucket } from './bucket.ts';

// How far the clock of the service may be from ours. Further off, what is lost stays: it holds no parts.
const CLOCK_TOLERANCE_MS = 5000;

/** An upload that may have begun without our learning its id. */
export interface LostBeginning {
  readonly key: string;
  /** The upload that a later attempt began, if any. */
  readonly id: string | undefined;
  /** When the first and the last attempt ended, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

const uploadsOf = async (bucket: Bucket, key: string) => {
  const answer = await bucket.connection.send(
    `ListMultipartUploads ${key}`,
    undefined,
    ({ sdk, client, http }) =>
      client.send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: key }), http),
  );
  return (answer.Uploads ?? []).flatMap(({ Key, UploadId, Initiated }) =>
    Key === key && UploadId !== undefined ? { id: UploadId, at: Initiated?.getTime() ?? 0 } : [],
  );
};

const isEmpty = async (bucket: Bucket, key: string, UploadId: string): Promise<boolean> => {
  const answer = await bucket.connection.send(`ListParts ${key}`, undefined, ({ sdk, client, http }) =>
    client.send(new sdk.ListPartsCommand({ Bucket: bucket.name, Key: key, UploadId, MaxParts: 1 }), http),
  );
  return (answer.Parts ?? []).length === 0;
};

/** Gives an upload up. Without the caller's signal: an aborted one must be cleared away as well. Never rejects. */
export const giveUp = async (bucket: Bucket, key: string, id: string): Promise<void> => {
  const input = { Bucket: bucket.name, Key: key, UploadId: id };
  await bucket.connection
    .send(`AbortMultipartUpload ${key}`, undefined, ({ sdk, client, http }) =>
      client.send(new sdk.AbortMultipartUploadCommand(input), http),
    )
    .catch(() => undefined);
};

/**
 * Gives up what an attempt began whose answer was lost: uploads of this very key, from the time of the attempts, without a part, and not
 * one that is still running here. Needs the right to list uploads; without it they stay. Never rejects.
 */
export const giveUpLost = async (bucket: Bucket, { key, id, from, to }: LostBeginning): Promise<void> => {
  try {
    for (const { id: found, at } of await uploadsOf(bucket, key)) {
      const isOurs = found === id || bucket.runningUploads.has(found);
      const isThen = at >= from - CLOCK_TOLERANCE_MS && at <= to + CLOCK_TOLERANCE_MS;
      if (!isOurs && isThen && (await isEmpty(bucket, key, found))) await giveUp(bucket, key, found);
    }
  } catch {
    // An upload without parts is invisible and holds nothing.
  }
};
