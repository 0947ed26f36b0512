import type { Parameters } from './requests.ts';
import { metadataOf, TUS } from '../protocol/tus-client.ts';

/** Sends an action through one of the ways into the service. `url` ends with the action's name. */
export type Door = (
  url: string,
  headers: Readonly<Record<string, string>>,
  fields: Parameters,
) => Promise<Response>;

const flat = (fields: Parameters): readonly (readonly [string, string])[] =>
  Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] => {
    if (typeof value === 'string') return [[name, value]];
    if (Array.isArray(value)) return value.map((one: string) => [`${name}[]`, one] as const);
    return Object.entries(value as Record<string, string>).map(
      ([inner, text]) => [`${name}[${inner}]`, text] as const,
    );
  });

const encoded = (fields: Parameters): URLSearchParams =>
  new URLSearchParams(flat(fields).map(([...pair]) => pair));

export const form: Door = (url, headers, fields) =>
  fetch(url, { method: 'POST', headers, body: encoded(fields) });

export const json: Door = (url, headers, fields) =>
  fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  });

export const query: Door = (url, headers, fields) =>
  fetch(`${url}?${encoded(fields).toString()}`, { headers });

/** At the URL of the service, with the action among the fields, as older clients do. */
const unnamed: Door = (url, headers, fields) =>
  form(url.replace(/[^/]+$/u, ''), headers, { action: url.replace(/^.*\//u, ''), ...fields });

export const multipart =
  (file: Buffer<ArrayBuffer>): Door =>
  (url, headers, fields) => {
    const body = new FormData();
    for (const [name, value] of flat(fields)) body.append(name, value);
    body.append('files[0]', new Blob([file]), 'sent.png');
    return fetch(url, { method: 'POST', headers, body });
  };

/** An upload in parts, in one request. */
const tus =
  (file: Buffer<ArrayBuffer>): Door =>
  (url, headers, { path = '', source }) =>
    fetch(url.replace(/[^/]+$/u, 'tus'), {
      method: 'POST',
      headers: {
        ...TUS,
        ...headers,
        'upload-length': String(file.byteLength),
        'upload-metadata': metadataOf({
          path: path as string,
          filename: 'sent.png',
          ...(source === undefined ? {} : { source: source as string }),
        }),
        'content-type': 'application/offset+octet-stream',
      },
      body: file,
    });

/** The doors that can carry a request, by name. The first one says most exactly what it means. */
export const doorsOf = (
  { name, methods, takesFiles }: { name: string; methods: readonly string[]; takesFiles: boolean },
  fields: Parameters,
  file: Buffer<ArrayBuffer>,
): Readonly<Record<string, Door>> => {
  // An address stands in the place of a file.
  if (takesFiles && fields['url'] === undefined)
    return {
      multipart: multipart(file),
      ...(name === 'fileUpload' && fields['responseType'] === undefined ? { tus: tus(file) } : {}),
    };
  return { json, form, unnamed, ...(methods.includes('GET') ? { query } : {}) };
};
