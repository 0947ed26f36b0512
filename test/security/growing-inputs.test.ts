import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import {
  ConverterThread,
  createImageEditor,
  createImagePool,
  listingBudget,
  readMultistatus,
} from '#internals';
import type { PictureFile } from '../../packages/stowage/dist/pictures/picture-file.js';
import { runsEverything, shareOfDay } from '../before-release.ts';
import { davShapes, htmlShapes, pictureShapes, type Shape, svgShapes, xmlShapes } from './growing-shapes.ts';

/** Where the work is linear, it doubles from one input to the next; where it is not, it becomes four times as much. */
const MOST = 3;
/** Milliseconds that are too short to compare: one collection of garbage takes as long. */
const SHORT = 160;
/** A busy machine makes single runs longer, never shorter. */
const ATTEMPTS = 12;

/** Processor time of all threads, in milliseconds. What the work comes to does not matter: most of it is refused. */
const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work().catch(() => undefined);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** How many times as long the larger of two takes. */
const growth = ([small = 0, large = 0]: readonly number[]): number => (large < SHORT ? 1 : large / small);

/**
 * The least times for 2n and 4n, measured until they grow as they should or it is certain that they do not. At n a
 * heap that grows once, and all else that is done once, is too much of the time to be compared with.
 */
const measure = async (
  shape: Shape,
  bytes: number,
  parse: (input: Buffer) => Promise<unknown>,
): Promise<readonly number[]> => {
  const inputs = await Promise.all([2, 4].map(async (factor) => Buffer.from(await shape(bytes * factor))));
  let times = [Infinity, Infinity];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    for (const [index, input] of inputs.entries()) {
      times = times.with(index, Math.min(times[index] ?? 0, await timeOf(() => parse(input))));
    }
    if (growth(times) <= MOST) break;
  }
  return times;
};

const expectLinear = async (...given: Parameters<typeof measure>): Promise<void> => {
  const times = await measure(...given);
  const rounded = times.map(Math.round).join(', ');
  expect(growth(times), `${rounded} ms`).toBeLessThanOrEqual(MOST);
};

const pool = createImagePool();
const editor = createImageEditor(pool);
const { signal } = new AbortController();
const PORTION = 64 * 1024;

const streamOf = (bytes: Buffer): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / PORTION) }, (_, index) =>
      bytes.subarray(index * PORTION, (index + 1) * PORTION),
    ),
  );
const fileOf = (bytes: Buffer): PictureFile => ({ size: bytes.length, open: () => streamOf(bytes) });
const nothing = (): Promise<void> => Promise.resolve();
const KB = 1024;

describe('twice the input is not four times the work', () => {
  it.each(shareOfDay(4, Object.entries(xmlShapes)))(
    'an XML file that is uploaded: %s',
    async (_name, shape) => {
      await expectLinear(shape, 256 * KB, (file) => editor.clean('a.xml', fileOf(file), nothing, signal));
    },
  );

  // The same parser reads an XML file above.
  it.each(shareOfDay(4, Object.entries(runsEverything ? { ...xmlShapes, ...svgShapes } : svgShapes)))(
    'a drawing that is listed: %s',
    async (_name, shape) => {
      await expectLinear(shape, 64 * KB, (file) => editor.measure('a.svg', fileOf(file)));
    },
  );

  it.each(shareOfDay(4, Object.entries(svgShapes)))(
    'a drawing that is uploaded: %s',
    async (_name, shape) => {
      await expectLinear(shape, 50 * KB, (file) => editor.clean('a.svg', fileOf(file), nothing, signal));
    },
  );

  it.each(shareOfDay(4, Object.entries(pictureShapes)))(
    'a picture that is listed: %s',
    async (_name, shape) => {
      await expectLinear(shape, 1024 * KB, (file) => pool.engine.size(file));
    },
  );

  it.each(shareOfDay(4, Object.entries(pictureShapes)))(
    'a picture that is uploaded: %s',
    async (_name, shape) => {
      await expectLinear(shape, 200 * KB, async (file) => {
        const policy = { autoOrient: false, format: 'keep' } as const;
        await pool.engine.receive(file, { ...policy, metadata: 'strip' }).catch(nothing);
        await pool.engine.receive(file, { ...policy, metadata: 'strip-location' });
      });
    },
  );

  const thread = new ConverterThread(512);
  afterAll(() => thread.end());
  it.each(shareOfDay(4, Object.entries(htmlShapes)))(
    'a page that becomes a document: %s',
    async (name, shape) => {
      // One attribute of this length makes the heap of the thread grow once, which below is most of the time.
      const bytes = name === 'a style that does not end' ? 512 * KB : 128 * KB;
      await expectLinear(shape, bytes, (page) =>
        thread.convert(page.toString(), {}, () => Promise.resolve(undefined)),
      );
    },
  );

  it.each(shareOfDay(4, Object.entries(davShapes)))(
    'the answer of a WebDAV server: %s',
    async (_name, shape) => {
      await expectLinear(shape, 256 * KB, async (answer) => {
        for await (const batch of readMultistatus(streamOf(answer), 512 * KB * KB, listingBudget()))
          void batch;
      });
    },
  );
});
