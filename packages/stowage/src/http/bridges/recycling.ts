import { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';
import type { RecyclingStream } from '../../storage/recycling-stream.ts';

/**
 * Whether a response says for certain when bytes are no longer needed: middleware of hosts, as for compression, may
 * put its own `write` in place, which keeps them or forgets to call back.
 */
export const tellsWhenSent = (response: ServerResponse): boolean =>
  [ServerResponse, Http2ServerResponse].some(({ prototype }) => response.write === prototype.write);

/**
 * Sends a body and gives each of its chunks back when the system has it. Rejects when the body fails or the client
 * leaves; the body is destroyed then.
 */
export const sendRecycling = async (
  body: RecyclingStream,
  response: ServerResponse,
  end: boolean,
): Promise<void> => {
  let settle: ((error?: Error | null) => void) | undefined;
  const untilSent = (begin: (sent: (error?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      settle = (error) => (error === undefined || error === null ? resolve() : reject(error));
      begin(settle);
    });
  const breakOff = (error: Error): void => {
    settle?.(error);
    body.destroy(error);
  };
  const endedByHost = (): Error => new Error('the host has ended the answer');
  const onClose = (): void =>
    breakOff(response.writableFinished ? endedByHost() : new Error('the client has left'));
  // Without a listener the error would end the process.
  response.once('close', onClose).on('error', breakOff);
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (response.writableEnded) breakOff(endedByHost());
      else await untilSent((sent) => response.write(chunk, sent));
      body.recycle(chunk);
    }
    if (end) await untilSent((sent) => response.end(sent));
  } finally {
    response.off('close', onClose).off('error', breakOff);
  }
};
