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

it('the focal point goes with what it is on when a picture is rotated, cropped or scaled', async () => {
  const service = await startService({ imagePresets: { square: PRESET } });
  await service.source('files').put({ 'a.png': await flag() });
  await service.call('fileDescribe', {
    name: 'a.png',
    'focalPoint[x]': '0.9',
    'focalPoint[y]': '0.25',
    alt: 'a',
  });
  const aboutOf = async (name: string): Promise<unknown> => {
    const { data } = await service.call('files', { 'mods[details]': 'true' });
    const [{ files }] = data['sources'] as [{ files: { name: string; about?: unknown }[] }];
    return files.find((file) => file.name === name)?.about;
  };
  await service.call('imageRotate', { name: 'a.png', angle: '90' });
  expect(await aboutOf('a.png')).toEqual({ alt: 'a', focalPoint: { x: 0.75, y: 0.9 } });
  expect(await coloursOf(service, 'a.png')).toEqual([0, 0, 1]);
  await service.call('imageRotate', { name: 'a.png', angle: '180', flip: 'vertical' });
  expect(await aboutOf('a.png')).toEqual({ alt: 'a', focalPoint: { x: 0.25, y: 0.9 } });
  await service.call('imageRotate', { name: 'a.png', angle: '270', flip: 'horizontal' });
  expect(await aboutOf('a.png')).toEqual({ alt: 'a', focalPoint: { x: 0.1, y: 0.75 } });
  const half = { 'box[x]': '0', 'box[y]': '50', 'box[w]': '150', 'box[h]': '50' };
  await service.call('imageCrop', { name: 'a.png', newname: 'b.png', ...half });
  expect(await aboutOf('b.png')).toEqual({ alt: 'a', focalPoint: { x: 0.2, y: 0.5 } });
  await service.call('imageResize', { name: 'b.png', 'box[w]': '30', 'box[h]': '90' });
  expect(await aboutOf('b.png')).toEqual({ alt: 'a', focalPoint: { x: 0.2, y: 0.5 } });
  // What is cut away does not matter any more.
  await service.call('imageCrop', {
    name: 'a.png',
    'box[x]': '150',
    'box[y]': '0',
    'box[w]': '150',
    'box[h]': '50',
  });
  expect(await aboutOf('a.png')).toEqual({ alt: 'a' });
});
