import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorHooks } from 'stowage';
import { onTestFinished } from 'vitest';
import { startService, type Fields, type Service, type ServiceOptions } from './service.ts';

export const TUS = { 'tus-resumable': '1.0.0' };

/** `Upload-Metadata` of these values. */
export const metadataOf = (values: Fields): string =>
  Object.entries(values)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',');

/** An answer of the protocol, its body as it is. */
export interface TusResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The error of the envelope, or undefined. */
  readonly error: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

const opened = async (response: Response): Promise<TusResponse> => {
  const text = await response.text();
  const { data = {} } = (text === '' ? {} : JSON.parse(text)) as { data?: Record<string, unknown> };
  const error = data['error'] as string | undefined;
  return { status: response.status, headers: response.headers, error, data };
};

/** Begins an upload of so many bytes. */
export const create = async (
  url: string,
  bytes: number | string,
  values: Fields,
  headers: Fields = {},
): Promise<TusResponse & { readonly address: string }> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...TUS, 'upload-length': String(bytes), 'upload-metadata': metadataOf(values), ...headers },
  });
  const location = response.headers.get('location') ?? '';
  return { ...(await opened(response)), address: new URL(location, url).href };
};

export const patch = async (
  address: string,
  offset: number | string,
  bytes: Uint8Array | string,
  headers: Fields = {},
): Promise<TusResponse> => {
  const type = { 'content-type': 'application/offset+octet-stream' };
  const all = { ...TUS, ...type, 'upload-offset': String(offset), ...headers };
  return opened(await fetch(address, { method: 'PATCH', headers: all, body: Buffer.from(bytes) }));
};

export const ask = async (method: string, address: string, headers: Fields = {}): Promise<TusResponse> =>
  opened(await fetch(address, { method, headers: { ...TUS, ...headers } }));

/** Where the upload goes on. */
export const offsetOf = async (address: string): Promise<number> =>
  Number((await ask('HEAD', address)).headers.get('upload-offset') ?? Number.NaN);

/** Sends the beginning of a body and cuts the connection behind it. */
export const sendAndCut = (address: string, offset: number, body: Buffer, sent: number): Promise<void> =>
  new Promise((resolve) => {
    const headers = {
      ...TUS,
      'content-type': 'application/offset+octet-stream',
      'content-length': body.length,
      'upload-offset': offset,
    };
    const going = request(address, { method: 'PATCH', headers, agent: false });
    going.on('error', () => undefined).on('close', resolve);
    going.on('socket', (socket: Socket) => {
      going.write(body.subarray(0, sent), () => socket.destroySoon());
    });
  });

/** A service that takes uploads in parts. */
export interface TusService extends Service {
  readonly tus: string;
  /** The paths of the bytes that it keeps. */
  kept(): Promise<string[]>;
}

/** Starts one. Where its parts lie is removed with the test. */
export const startTus = async (
  options: ServiceOptions = {},
  hooks: ConnectorHooks = {},
): Promise<TusService> => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'stowage-tus-'));
  onTestFinished(() => rm(stateDirectory, { recursive: true, force: true }));
  const service = await startService({ createThumb: false, tus: {}, stateDirectory, ...options }, hooks);
  return {
    ...service,
    tus: `${service.url}/tus`,
    kept: async () => {
      const names = await readdir(stateDirectory, { recursive: true });
      return names.filter((name) => name.endsWith('/bytes')).map((name) => join(stateDirectory, name));
    },
  };
};
