import { ConnectorError, createClient, dataOf } from '../client/client.ts';
import type { FileUploadData, PermissionsData } from '../client/index.ts';
import { removeParts, sendInParts, whileUnreachable } from './parts.ts';
import { type Begun, type Reach, request, UnreadableFile } from './request.ts';
import { findStored } from './stored.ts';

/** Larger files are sent in parts if the connector supports that: no byte is sent twice. */
const WHOLE_BYTES = 8 * 1024 * 1024;

/** Limits of the connector for uploads into a folder. */
export type Limits = NonNullable<PermissionsData['limits']>;

export interface FileUpload {
  readonly file: File;
  readonly source: string;
  readonly path: string;
  /**
   * Name of the file in `path` whose content is replaced, and whose link stays. The content is sent whole.
   */
  readonly replaces?: string | undefined;
  /** From `permissions`; undefined if it has none. */
  readonly limits?: Limits | undefined;
  /**
   * Time of an earlier attempt that was interrupted: if its file was stored nevertheless, it is not sent
   * again.
   */
  readonly since?: number | undefined;
  /** Shared by the attempts for a file. Without it there is one attempt, and a failure leaves no parts. */
  readonly begun?: Begun | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (sent: number) => void;
}

type Attempt = FileUpload & { readonly begun: Begun };

/** The reason why a file cannot be stored, known before it is sent. */
export type Obstacle = 'type' | 'size' | 'room';

const extensionOf = (name: string): string => /\.([^.]+)$/u.exec(name)?.[1]?.toLowerCase() ?? '';

/** The limit that a file exceeds. The connector decides; this avoids useless uploads. */
export const obstacleOf = (file: File, limits: Limits | undefined): Obstacle | undefined => {
  if (limits === undefined) return undefined;
  // The connector chooses the extension of pasted pictures.
  if (extensionOf(file.name) !== '' && !limits.extensions.includes(extensionOf(file.name))) return 'type';
  if (file.size > limits.maxUploadFileSize) return 'size';
  return limits.bytesLeft !== undefined && file.size > limits.bytesLeft ? 'room' : undefined;
};

/** Whether a smaller request may succeed: a proxy has rejected the length, or the connection was closed. */
const mayPassInParts = (error: unknown): error is ConnectorError =>
  error instanceof ConnectorError && error.messages.length === 0 && [0, 408, 413].includes(error.code);

const sendWhole = async (reach: Reach, upload: Attempt): Promise<FileUploadData> => {
  const { file, source, path, replaces, limits, signal, onProgress } = upload;
  const form = new FormData();
  form.append('source', source);
  form.append('path', path);
  if (replaces !== undefined) form.append('name', replaces);
  // Last: the connector must know the destination when the file arrives.
  form.append('files[0]', file, file.name);
  const url = `${reach.base}${replaces === undefined ? 'fileUpload' : 'fileReplace'}`;
  return dataOf<FileUploadData>(
    await request(reach, {
      method: 'POST',
      url,
      body: form,
      of: upload,
      signal,
      onProgress: (sent) => onProgress(Math.min(sent, file.size)),
      // Aborting it would abort storing. Parts, which are sent then, are stored nevertheless.
      isPatient: replaces !== undefined || limits?.tus !== true,
    }),
  );
};

/**
 * Finds a file that was stored although its response was lost, as soon as a connector responds again that has
 * responded before. Finds nothing in a folder that may not be listed.
 */
const findEarlier = (reach: Reach, upload: FileUpload, since: number) => {
  const { file, source, path, limits, signal } = upload;
  const client = createClient({
    url: reach.base,
    headers: reach.headers,
    credentials: reach.withCredentials ? 'include' : 'same-origin',
  });
  const find = () =>
    findStored(client, file, { source, path }, since, signal).catch((error: unknown) => {
      if (error instanceof ConnectorError && error.error === 'ACCESS_DENIED') return undefined;
      const isLost = error instanceof TypeError || error instanceof DOMException;
      throw isLost && !signal.aborted ? new ConnectorError(0, []) : error;
    });
  return limits === undefined ? find() : whileUnreachable(find, signal);
};

const send = async (reach: Reach, upload: Attempt): Promise<FileUploadData> => {
  const { file, source, path, limits, begun, signal, onProgress, since } = upload;
  if (upload.replaces !== undefined) return sendWhole(reach, upload);
  const startedAt = Date.now();
  const inParts = async (): Promise<FileUploadData> =>
    dataOf<FileUploadData>(
      await sendInParts(reach, { file, fields: { source, path }, begun, signal, onProgress }),
    );
  if (since !== undefined) {
    const found = await findEarlier(reach, upload, since);
    if (found !== undefined) return found;
  }
  if (limits?.tus === true && file.size > WHOLE_BYTES) return inParts();
  try {
    return await sendWhole(reach, upload);
  } catch (error) {
    if (limits === undefined || !mayPassInParts(error)) throw error;
    const isLost = error.code === 0;
    const found = isLost ? await findEarlier(reach, upload, startedAt) : undefined;
    if (found !== undefined) return found;
    if (limits.tus && file.size > 0) return inParts();
    if (isLost) return sendWhole(reach, upload);
    throw error;
  }
};

/**
 * Stores a file. Large files are sent in parts if the connector supports that, and so is a form that a proxy
 * rejects as too long. A form whose response was lost may have been stored: that is checked before anything
 * is sent again. Parts that no attempt continues are removed.
 * @throws ConnectorError for a rejection, with code 0 without a response; UnreadableFile; the signal's reason
 */
export const uploadFile = async (reach: Reach, upload: FileUpload): Promise<FileUploadData> => {
  const { begun = {}, signal } = upload;
  // The browser warns before the user leaves the page: another page cannot continue the upload.
  const ask = (event: Event): void => event.preventDefault();
  addEventListener('beforeunload', ask);
  try {
    return await send(reach, { ...upload, begun });
  } catch (error) {
    const isGivenUp = signal.aborted || error instanceof UnreadableFile || upload.begun === undefined;
    if (isGivenUp) removeParts(reach, begun);
    throw error;
  } finally {
    removeEventListener('beforeunload', ask);
  }
};
