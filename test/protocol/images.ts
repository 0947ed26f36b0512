import sharp, { type Metadata } from 'sharp';
import type { Service, ServiceOptions } from './service.ts';
import { startService } from './service.ts';

/** A file on disk, decoded: what a browser would show and what describes it. */
export interface Shown {
  readonly bytes: Buffer;
  readonly format: string | undefined;
  /** Of a frame. */
  readonly width: number;
  readonly height: number;
  readonly frames: number;
  readonly metadata: Metadata;
}

/** A service with one folder of images. */
export interface ImageService {
  readonly service: Service;
  readonly put: (name: string, bytes: Uint8Array) => Promise<void>;
  readonly shown: (name: string) => Promise<Shown>;
  readonly bytes: (name: string) => Promise<Buffer>;
}

/** Starts a service whose first source is `files`. */
export const startImages = async (options: ServiceOptions = {}): Promise<ImageService> => {
  const service = await startService(options);
  const files = service.source('files');
  const bytes = (name: string): Promise<Buffer> => files.bytes(name);
  return {
    service,
    put: (name, content) => files.put({ [name]: content }),
    bytes,
    shown: async (name) => {
      const file = await bytes(name);
      const metadata = await sharp(file).metadata();
      const { format, width, height, pages = 1 } = metadata;
      return { bytes: file, format, width, height, frames: pages, metadata };
    },
  };
};

/** `{w: 1}` as the fields of a form: `box[w]=1`. */
export const boxOf = (box: Readonly<Record<string, string | number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(box).map(([key, value]) => [`box[${key}]`, String(value)]));
