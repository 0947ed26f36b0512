import sharp from 'sharp';
import { expect, it } from 'vitest';
import { startService, type Service } from '../protocol/service.ts';

/** Red on the left, green in the middle, blue on the right. */
const flag = async (): Promise<Buffer> => {
  const stripe = (background: string, left: number) => ({
    input: { create: { width: 100, height: 100, channels: 3 as const, background } },
    left,
    top: 0,
  });
  return sharp({ create: { width: 300, height: 100, channels: 3, background: 'black' } })
    .composite([stripe('#ff0000', 0), stripe('#00ff00', 100), stripe('#0000ff', 200)])
    .png()
    .toBuffer();
};

const PRESET = { width: 50, height: 50, fit: 'cover', format: 'png' } as const;

const coloursOf = async (service: Service, name: string): Promise<readonly number[]> => {
  const response = await service.get('imageVariant', { name, preset: 'square' });
  const image = sharp(Buffer.from(await response.arrayBuffer()));
  expect(await image.metadata()).toMatchObject({ width: 50, height: 50 });
  return [...(await image.removeAlpha().resize(1, 1).raw().toBuffer())].map((value) =>
    Math.round(value / 255),
  );
};

it('cover presets keep the focal point in view, also when it moves and when the picture moves', async () => {
  const service = await startService({ imagePresets: { square: PRESET } });
  await service.source('files').put({ 'a.png': await flag(), 'dir/': '' });
  expect(await coloursOf(service, 'a.png')).toEqual([0, 1, 0]);
  const look = (x: string) =>
    service.call('fileDescribe', { name: 'a.png', 'focalPoint[x]': x, 'focalPoint[y]': '0.5' });
  await look('0.95');
  expect(await coloursOf(service, 'a.png')).toEqual([0, 0, 1]);
  await look('0');
  expect(await coloursOf(service, 'a.png')).toEqual([1, 0, 0]);
  await service.call('fileRename', { name: 'a.png', newname: 'b.png' });
  expect(await coloursOf(service, 'b.png')).toEqual([1, 0, 0]);
  await service.call('fileDescribe', { name: 'b.png', focalPoint: '' });
  expect(await coloursOf(service, 'b.png')).toEqual([0, 1, 0]);
});
