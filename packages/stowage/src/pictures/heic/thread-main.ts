import { parentPort, workerData } from 'node:worker_threads';
import type { HeicAnswer, HeicJob } from './decode-heic.ts';
import { pixelPng } from './pixel-png.ts';

/** Bytes of a page of WebAssembly memory. */
const PAGE_BYTES = 64 * 1024;

/** A picture of a HEIC file, as the decoder gives it. */
interface DecodedHeic {
  readonly width: number;
  readonly height: number;
  readonly decode: () => Promise<{ readonly data: Uint8ClampedArray }>;
}

/** What is used of the package, which has no types of its own. */
interface HeicDecoder {
  readonly default: {
    readonly all: (job: { readonly buffer: Uint8Array }) => Promise<readonly DecodedHeic[]>;
  };
}

/** What is used of memory that a WebAssembly program has. The compiler knows it in pages only. */
interface ProgramMemory {
  readonly buffer: ArrayBuffer;
  grow: (this: ProgramMemory, pages: number) => number;
}

declare const WebAssembly: { readonly Memory: { readonly prototype: ProgramMemory } };

/**
 * Lets the decoder's memory grow no further than this: the coded picture may be larger than the file says,
 * and the decoder would only find out when it has made room for it. It takes the refusal as a lack of memory.
 */
const limitMemory = (bytes: number): void => {
  const { prototype } = WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function limited(pages): number {
    if (this.buffer.byteLength + pages * PAGE_BYTES > bytes) throw new RangeError('too much memory');
    return grow.call(this, pages);
  };
};

const decode = async ({ file, index, memory, chunks, ...seen }: HeicJob): Promise<HeicAnswer> => {
  limitMemory(memory);
  // The package has no types.
  const name = 'heic-decode';
  const { default: decoder } = (await import(name)) as HeicDecoder;
  const picture = (await decoder.all({ buffer: file }))[index];
  if (picture === undefined) return { failure: 'no picture' };
  const { width, height } = picture;
  if (width !== seen.width || height !== seen.height)
    return { failure: `${String(width)}x${String(height)}, not what its header says` };
  const { data } = await picture.decode();
  // Pixels that the decoder did not fill in stay transparent.
  if (!seen.hasAlpha && data.at(-1) !== 0xff) return { failure: 'smaller than its header says' };
  return { png: pixelPng({ ...seen, data: new Uint8Array(data.buffer) }, chunks) };
};

const answer = await decode(workerData as HeicJob).catch((error: unknown): HeicAnswer => ({
  failure: error instanceof Error ? error.message : String(error),
}));
parentPort?.postMessage(answer, 'png' in answer ? [answer.png.buffer as ArrayBuffer] : []);
