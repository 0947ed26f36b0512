import { UnsupportedError } from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { removeSingly } from '../core/change.ts';
import type { NotRemoved, ObjectToRemove } from '../core/objects.ts';
import { failedRequest } from '../core/requests.ts';
import type { Connection } from './connection.ts';

/** The most that one request removes. */
const MAX_BATCH = 256;
/** How a service that knows no batches refuses one. */
const NO_BATCHES: ReadonlySet<number | undefined> = new Set([400, 404, 405, 501]);

/** Sends one batch. Returns the objects that it has not removed, for whatever reason. */
const sendBatch = async (
  connection: Connection,
  objects: readonly ObjectToRemove[],
  { signal }: OperationOptions,
): Promise<readonly ObjectToRemove[]> => {
  const operation = `Batch ${objects[0]?.key ?? ''} and so on`;
  const { subResponses } = await connection.send(operation, signal, async ({ sdk, container }, http) => {
    const batch = new sdk.BlobBatch();
    for (const { key, etag } of objects) {
      const conditions = etag === undefined ? {} : { ifMatch: etag };
      await batch.deleteBlob(container.getBlobClient(key), { conditions });
    }
    return container.getBlobBatchClient().submitBatch(batch, http);
  });
  return objects.filter((_, index) => ![202, 404].includes(subResponses[index]?.status ?? 0));
};

/**
 * Removes blobs, many with a request, each under the condition of its version. What is left of a batch is tried once
 * more by `singly`, which tells a refusal from what passes in a moment. Returns what is still there.
 * @throws UnsupportedError where the service knows no batches
 */
export const removeInBatches = async (
  connection: Connection,
  objects: readonly ObjectToRemove[],
  options: OperationOptions,
  singly: (object: ObjectToRemove) => Promise<void>,
): Promise<readonly NotRemoved[]> => {
  const notRemoved: NotRemoved[] = [];
  for (let start = 0; start < objects.length; start += MAX_BATCH) {
    const some = objects.slice(start, start + MAX_BATCH);
    const left = await sendBatch(connection, some, options).catch((error: unknown) => {
      throw NO_BATCHES.has(failedRequest(error)?.status) ? new UnsupportedError({ cause: error }) : error;
    });
    notRemoved.push(...(await removeSingly(left, singly, options)));
  }
  return notRemoved;
};
