import { sendInParts } from '../transfer/parts.ts';
import type { Reply } from '../transfer/request.ts';
import { envelopeText } from './answers.ts';
import { type Connection, urlOf } from './connection.ts';
import type { UploadAnswer } from './editor.ts';
import type { Texts } from './texts/texts.ts';

/** Files from here on are sent in parts. */
const LARGE_BYTES = 20 * 1024 * 1024;

/** A form without its large files. */
export interface SplitForm {
  readonly large: readonly File[];
  readonly rest: FormData;
  /** Bytes of the files that are left in it; undefined: none is. */
  readonly restBytes: number | undefined;
}

/** How one file is sent. */
export interface Sending {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onProgress: (sent: number) => void;
}

/** How the large files of an editor travel. */
export interface LargeFiles {
  /** Takes the large files out of a form; undefined: it has none, or the connector takes no parts. */
  split(form: unknown): Promise<SplitForm | undefined>;
  /** Sends one of them. @throws the signal's reason */
  send(file: File, form: FormData, sending: Sending): Promise<UploadAnswer>;
}

const splitForm = (form: FormData, from: number): SplitForm => {
  const large: File[] = [];
  const rest = new FormData();
  let restBytes: number | undefined;
  for (const [name, value] of form) {
    if (typeof value !== 'string' && value.size >= from) large.push(value);
    else {
      rest.append(name, value);
      if (typeof value !== 'string') restBytes = (restBytes ?? 0) + value.size;
    }
  }
  return { large, rest, restBytes };
};

const answerOf = ({ status, text }: Reply, texts: Texts): UploadAnswer =>
  status === 0
    ? { success: false, data: { messages: [texts.unreachable] } }
    : (JSON.parse(envelopeText(text, status, '', texts)) as UploadAnswer);

/**
 * Large files go by uploads in parts, where the connector has them (its setting `tus`). Asks when the first
 * is there.
 */
export const createLargeFiles = (connection: Connection, texts: Texts): LargeFiles => {
  const base = new URL(urlOf(connection), document.baseURI).href;
  const credentials = connection.credentials ?? 'same-origin';
  let offered: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      const { ok, headers } = await fetch(`${base}tus`, { method: 'OPTIONS', credentials });
      return ok && headers.has('Tus-Version');
    } catch {
      offered = undefined;
      return false;
    }
  };
  return {
    split: async (form) => {
      if (!(form instanceof FormData) || connection.resumable === false) return undefined;
      const split = splitForm(form, connection.resumable?.from ?? LARGE_BYTES);
      if (split.large.length === 0) return undefined;
      return (await (offered ??= ask())) ? split : undefined;
    },
    send: async (file, form, { headers, signal, onProgress }) => {
      const fields = ['source', 'path'].flatMap((name) => {
        const value = form.get(name);
        return typeof value === 'string' ? [[name, value] as const] : [];
      });
      const reach = { base, headers: async () => headers, withCredentials: credentials === 'include' };
      const upload = { file, fields: Object.fromEntries(fields), signal, onProgress };
      return answerOf(await sendInParts(reach, upload), texts);
    },
  };
};

const joined = <Part>(
  answers: readonly UploadAnswer[],
  listOf: (data: UploadAnswer['data']) => readonly Part[] | undefined,
): readonly Part[] => answers.flatMap(({ data }) => listOf(data) ?? []);

/** One answer for several: a success with all that was stored when anything was. */
export const together = (answers: readonly UploadAnswer[]): UploadAnswer => {
  const stored = answers.filter(({ success }) => success);
  const [first] = stored;
  if (first === undefined || answers.length === 1) {
    const [refused] = answers.filter(({ success }) => !success);
    return refused ?? first ?? { success: false, data: { messages: [] } };
  }
  return {
    success: true,
    data: {
      ...first.data,
      messages: joined(stored, ({ messages }) => messages),
      files: joined(stored, ({ files }) => files),
      isImages: joined(stored, ({ isImages }) => isImages),
      items: joined(stored, ({ items }) => items),
    },
  };
};
