import { randomInt } from 'node:crypto';
import { ask, create, patch, type TusResponse } from '../protocol/tus-client.ts';

/** An upload in parts that has begun. */
export interface Parts {
  readonly path: string;
  readonly name: string;
  readonly content: string;
  /** The last segment of its address: the service gets another port when it starts again. */
  readonly id: string;
  /** Bytes that the service has answered to have. */
  acknowledged: number;
  isSending: boolean;
}

/** What the service answers; undefined when it is gone. */
const orCut = (answer: Promise<TusResponse>): Promise<TusResponse | undefined> =>
  answer.catch(() => undefined);

const failed = (what: string, { status, error }: TusResponse): Error =>
  new Error(`A request failed: ${what}: ${String(status)} ${error ?? ''}`);

/** Begins one. Undefined when that was cut off: then nobody knows of it. */
export const beginParts = async (
  tus: string,
  file: Pick<Parts, 'path' | 'name' | 'content'>,
): Promise<Parts | undefined> => {
  const { path, name, content } = file;
  const begun = await create(tus, content.length, { path, filename: name }).catch(() => undefined);
  if (begun === undefined) return undefined;
  if (begun.status !== 201) throw failed(`${name} does not begin`, begun);
  return { ...file, id: begun.address.split('/').at(-1) ?? '', acknowledged: 0, isSending: false };
};

const send = async (tus: string, parts: Parts): Promise<'cut' | 'more' | 'stored'> => {
  const { name, content, id } = parts;
  const address = `${tus}/${id}`;
  const looked = await orCut(ask('HEAD', address));
  if (looked === undefined) return 'cut';
  const offset = Number(looked.headers.get('upload-offset') ?? Number.NaN);
  if (looked.status !== 200 || !(offset >= parts.acknowledged))
    throw failed(`${name} has ${String(offset)} of ${String(parts.acknowledged)} bytes`, looked);
  parts.acknowledged = offset;
  const end = Math.min(content.length, offset + randomInt(1, content.length + 1));
  const answer = await orCut(patch(address, offset, content.slice(offset, end)));
  if (answer === undefined) return 'cut';
  if (answer.status !== (end === content.length ? 200 : 204)) throw failed(`${name} does not go on`, answer);
  parts.acknowledged = end;
  if (end < content.length) return 'more';
  const { files } = answer.data as { files?: readonly string[] };
  if (files?.join() !== `${parts.path}/${name}`)
    throw failed(`${name} is stored as ${String(files)}`, answer);
  return 'stored';
};

/** Asks how much has come, and sends more. */
export const sendPart = async (tus: string, parts: Parts): Promise<'cut' | 'more' | 'stored'> => {
  parts.isSending = true;
  try {
    return await send(tus, parts);
  } finally {
    parts.isSending = false;
  }
};
