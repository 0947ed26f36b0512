import { UnsupportedError } from '../../../errors/errors.ts';
import type { Batches } from '../core/objects.ts';
import { failedRequest, type Requests } from '../core/requests.ts';
import type { AzureClient } from './connection.ts';

/** Statuses by which services without batch requests reject them. */
const NO_BATCHES: ReadonlySet<number | undefined> = new Set([400, 404, 405, 501]);

/** Removes several blobs in one request, each under the condition of its version. */
export const createBatches = (requests: Requests<AzureClient>): Batches => ({
  // Limit of the service.
  most: 256,
  remove: async (objects, { signal }) => {
    const operation = `Batch ${objects[0]?.key ?? ''} and so on`;
    const sending = requests.send(operation, signal, async ({ sdk, container }, http) => {
      const batch = new sdk.BlobBatch();
      for (const { key, etag } of objects) {
        const conditions = etag === undefined ? {} : { ifMatch: etag };
        await batch.deleteBlob(container.getBlobClient(key), { conditions });
      }
      return container.getBlobBatchClient().submitBatch(batch, http);
    });
    const { subResponses } = await sending.catch((error: unknown) => {
      throw NO_BATCHES.has(failedRequest(error)?.status) ? new UnsupportedError({ cause: error }) : error;
    });
    // The response does not distinguish rejections from temporary errors; a single removal does.
    return objects
      .filter((_, index) => ![202, 404].includes(subResponses[index]?.status ?? 0))
      .map(({ key }) => ({ key, failure: undefined }));
  },
});
