import { type Calls, isRecord } from './calls.ts';
import type { UploadAnswer } from './editor.ts';

/** Milliseconds by which the clock of the service may be behind. */
const CLOCKS_DIFFER = 300_000;

/** Files of a folder that are looked through beside those of the form, the newest first. */
const OF_OTHERS = 100;

type Listed = Readonly<Record<string, unknown>>;

/**
 * What of a form is stored, as the answer to an upload, and a form of the rest; undefined when nothing is
 * left.
 */
export interface FoundUploads {
  readonly stored: UploadAnswer | undefined;
  readonly rest: FormData | undefined;
}

const filesIn = (form: FormData): readonly (readonly [key: string, file: File])[] =>
  [...form].flatMap(([key, value]) => (value instanceof File ? [[key, value] as const] : []));

const partsOf = (name: string): readonly string[] => /^(.*?)(\.[^.]*)?$/su.exec(name)?.slice(1) ?? [];

/** What of a name stays when a service replaces the signs that it does not store. */
const plainName = (stem = '', extension = ''): string =>
  `${stem.normalize('NFKC').replaceAll(/[^\p{L}\p{N}]+/gu, '')}${extension}`.toLowerCase();

/** Bytes that are compared at a time. */
const COMPARED = 2 ** 20;

/**
 * Whether a file may be the one of the form: the same name as it is stored, perhaps with the number that a taken
 * name gets; as many bytes; and new.
 */
const mayBe = (file: File, { name, bytes, modified }: Listed, since: number): boolean => {
  if (typeof name !== 'string' || bytes !== file.size || typeof modified !== 'string') return false;
  const [stem = '', extension] = partsOf(name);
  const names = [stem, stem.replace(/-\d+$/u, '')].map((one) => plainName(one, extension));
  return names.includes(plainName(...partsOf(file.name))) && Date.parse(modified) >= since - CLOCKS_DIFFER;
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

const answerWith = (source: Listed, items: readonly Listed[]): UploadAnswer => {
  const { baseurl, path, name } = source as { baseurl?: string; path?: string; name?: string };
  const folder = (path ?? '').replaceAll(/^\/+|\/+$/gu, '');
  const names = items.map((item) => item['name'] as string);
  const described = items.map((item) => ({ ...item, source: name ?? '', path: path ?? '' }));
  return {
    success: true,
    data: {
      baseurl: baseurl ?? '',
      files: names.map((one) => (folder === '' ? one : `${folder}/${one}`)),
      isImages: items.map(({ isImage }) => isImage === true),
      items: described,
      messages: [],
    },
  };
};

/**
 * Finds out which files of a form the service has stored although its answer was lost. What only looks like one of
 * them is fetched and compared: an older file may have the same name and length. What the service has changed,
 * such as a picture that was scaled down, and what may not be fetched is not recognised, and is sent again: a
 * second copy is better than a picture that is lost, or another one.
 * @throws Error when the service cannot be asked; the reason of the signal
 */
export const findStored = async (
  calls: Calls,
  form: FormData,
  since: number,
  signal: AbortSignal,
): Promise<FoundUploads> => {
  const files = filesIn(form);
  if (files.length === 0) return { stored: undefined, rest: form };
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value : '';
  };
  const folder = { source: text('source'), path: text('path') };
  const details = { 'mods[details]': '1', 'mods[sortBy]': 'changed-desc' };
  const limit = String(files.length + OF_OTHERS);
  const data = await calls.ask({ action: 'files', ...folder, ...details, 'mods[limit]': limit }, signal);
  const [source] = Array.isArray(data['sources']) ? data['sources'].filter(isRecord) : [];
  const listed = Array.isArray(source?.['files']) ? source['files'].filter(isRecord) : [];
  const isOn = async (file: File, { name }: Listed): Promise<boolean> => {
    try {
      const fields = { action: 'fileDownload', ...folder, name: String(name) };
      return await isSame(file, await calls.fetchFile(fields, signal));
    } catch {
      signal.throwIfAborted();
      return false;
    }
  };
  const items: Listed[] = [];
  const rest = new FormData();
  for (const [key, value] of form) {
    let item: Listed | undefined;
    for (const one of listed) {
      // Two files of one name are two.
      if (!(value instanceof File) || items.includes(one) || !mayBe(value, one, since)) continue;
      if (!(await isOn(value, one))) continue;
      item = one;
      break;
    }
    if (item === undefined) rest.append(key, value);
    else items.push(item);
  }
  return {
    stored: source === undefined || items.length === 0 ? undefined : answerWith(source, items),
    rest: filesIn(rest).length === 0 ? undefined : rest,
  };
};

/** Two answers to parts of one form as one. */
export const joinAnswers = (one: UploadAnswer | undefined, other: UploadAnswer): UploadAnswer => {
  if (one === undefined || !other.success) return other;
  const { files = [], isImages = [], items = [] } = one.data;
  return {
    success: true,
    data: {
      ...other.data,
      files: [...files, ...(other.data.files ?? [])],
      isImages: [...isImages, ...(other.data.isImages ?? [])],
      items: [...items, ...(other.data.items ?? [])],
    },
  };
};
