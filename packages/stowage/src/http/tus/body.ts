import { PassThrough, Readable } from 'node:stream';

const WAITING_BYTES = 1 << 18;

/** The body of a request on its way to the library. */
export interface Inlet {
  readonly stream: ReadableStream<Uint8Array>;
  /** Takes a chunk; the promise resolves when the next may come. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Nothing more comes: also after a broken connection, so that all that has come counts. */
  end(): void;
  /** Drops the unread rest. */
  destroy(): void;
}

/** Makes a body that the library may end, cancel or leave alone, whatever the body of the request does. */
export const createInlet = (): Inlet => {
  const passage = new PassThrough({ highWaterMark: WAITING_BYTES });
  // A library that has read enough cancels; the request goes on.
  passage.on('error', () => undefined);
  return {
    stream: Readable.toWeb(passage) as ReadableStream<Uint8Array>,
    write: (chunk) => {
      if (passage.destroyed || passage.writableEnded || passage.write(chunk)) return undefined;
      return new Promise((resolve) => {
        const goOn = (): void => {
          passage.off('drain', goOn).off('close', goOn);
          resolve();
        };
        passage.on('drain', goOn).on('close', goOn);
      });
    },
    end: () => void passage.end(),
    destroy: () => void passage.destroy(),
  };
};
