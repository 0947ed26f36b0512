import type { Stat } from '../../storage/adapter.ts';
import type { DavResponse } from './multistatus.ts';

/** Bytes from a header or property; undefined for what is no length. */
export const lengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/u.test(text) ? Number(text) : undefined;

/** Milliseconds from an HTTP date; undefined for what is none. */
export const timeOf = (text: string | undefined): number | undefined => {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
};

/** A strong validator as it came; weak ones do not tell two contents apart. */
export const strongEtag = (text: string | undefined): string | undefined =>
  text !== undefined && /^"[^"]*"$/u.test(text) ? text : undefined;

/** An entry from the properties of a resource. */
export const statOf = (name: string, response: DavResponse): Stat =>
  response.isCollection
    ? { name, kind: 'folder', size: undefined, modifiedAt: timeOf(response.lastModified), etag: undefined }
    : {
        name,
        kind: 'file',
        size: lengthOf(response.contentLength),
        modifiedAt: timeOf(response.lastModified),
        etag: strongEtag(response.etag),
      };
