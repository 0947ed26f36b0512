import type { Client, FileUploadData, FilesData } from '../client/index.ts';
import { anyOf, SILENCE } from './request.ts';

/** Tolerance in milliseconds for a slow clock of the service. */
const CLOCKS_DIFFER = 300_000;

/** Files of a folder that are examined, newest first. */
const LOOKED_THROUGH = 100;

/** Bytes per step of the comparison. */
const COMPARED = 2 ** 20;

type Listed = FilesData['sources'][number]['files'][number];
type ListedFile = Exclude<Listed, { readonly type: 'folder' }>;

const partsOf = (name: string): readonly string[] => /^(.*?)(\.[^.]*)?$/su.exec(name)?.slice(1) ?? [];

/** The part of a name that survives when a service replaces characters. */
const plainName = (stem = '', extension = ''): string =>
  `${stem.normalize('NFKC').replaceAll(/[^\p{L}\p{N}]+/gu, '')}${extension}`.toLowerCase();

/**
 * Whether a stored file may be this one: the same name after replacements, perhaps with a number; the same
 * length; and recent.
 */
const mayBe = (file: File, item: Listed, since: number): item is ListedFile => {
  if (item.type === 'folder' || item.bytes !== file.size || item.modified === undefined) return false;
  const [stem = '', extension] = partsOf(item.name);
  const names = [stem, stem.replace(/-\d+$/u, '')].map((one) => plainName(one, extension));
  const isNew = Date.parse(item.modified) >= since - CLOCKS_DIFFER;
  return isNew && names.includes(plainName(...partsOf(file.name)));
};

const isSame = async (one: Blob, other: Blob): Promise<boolean> => {
  if (one.size !== other.size) return false;
  for (let at = 0; at < one.size; at += COMPARED) {
    const parts = [one, other].map((blob) => blob.slice(at, at + COMPARED).arrayBuffer());
    const [left = [], right = []] = (await Promise.all(parts)).map((bytes) => new Uint8Array(bytes));
    if (left.some((byte, index) => byte !== right[index])) return false;
  }
  return true;
};

/**
 * Finds a file that the service has stored although its response was lost, and returns the data of that
 * response. Candidates are fetched and compared: an older file may have the same name and length. Files that
 * the service has changed, such as a scaled picture, and files that may not be fetched are not recognised: a
 * second copy is better than a lost or a wrong file.
 * @throws ConnectorError when the service does not respond; the signal's reason
 */
export const findStored = async (
  client: Client,
  file: File,
  { source, path }: { readonly source: string; readonly path: string },
  since: number,
  signal: AbortSignal,
): Promise<FileUploadData | undefined> => {
  const mods = { details: true, sortBy: 'changed-desc' as const, limit: LOOKED_THROUGH };
  const patience = anyOf([signal, AbortSignal.timeout(SILENCE)]);
  const { sources } = await client.files({ source, path, mods }, { signal: patience });
  const [listed] = sources;
  for (const item of listed?.files ?? []) {
    if (listed === undefined || !mayBe(file, item, since)) continue;
    try {
      const response = await client.fileDownload({ source, path, name: item.name }, { signal });
      if (!(await isSame(file, await response.blob()))) continue;
    } catch {
      signal.throwIfAborted();
      continue;
    }
    const folder = listed.path.replaceAll(/^\/+|\/+$/gu, '');
    return {
      code: 220,
      messages: [],
      baseurl: listed.baseurl,
      files: [folder === '' ? item.name : `${folder}/${item.name}`],
      isImages: [item.isImage],
      items: [{ ...item, source: listed.name, path: listed.path }],
    } as unknown as FileUploadData;
  }
  return undefined;
};
