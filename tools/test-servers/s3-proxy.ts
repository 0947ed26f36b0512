import type { IncomingMessage } from 'node:http';
import { FaultProxy } from './fault-proxy.ts';

export type { Effect } from './fault-proxy.ts';

const operationOf = ({ method = '', url = '', headers }: IncomingMessage): string => {
  const query = new URL(url, 'http://proxy').searchParams;
  const copies = headers['x-amz-copy-source'] !== undefined;
  if (method === 'GET' && query.has('uploadId')) return 'ListParts';
  if (method === 'GET')
    return query.has('list-type') ? 'ListObjectsV2' : query.has('uploads') ? 'ListUploads' : 'GetObject';
  if (method === 'HEAD') return 'HeadObject';
  if (method === 'DELETE') return query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
  if (method === 'POST') {
    if (query.has('delete')) return 'DeleteObjects';
    return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  }
  if (query.has('partNumber')) return copies ? 'UploadPartCopy' : 'UploadPart';
  return copies ? 'CopyObject' : 'PutObject';
};

/** A fault proxy between the S3 adapter and its server. */
export type S3Proxy = FaultProxy;

export const S3Proxy = {
  start: (endpoint: string): Promise<S3Proxy> => FaultProxy.start(endpoint, operationOf),
};
