import { BrokenBodyError, RequestTimeoutError } from '../../errors/errors.ts';
import { createInlet } from '../tus/body.ts';
import type { ConnectorRequest } from '../message.ts';
import { bodyTimes, type BodyTimes, pour } from './pour.ts';

/** Takes chunks as long as they come fast enough; what waits for the reader does not count. */
const atLeast = (
  { formMs, formBytesPerMs }: BodyTimes,
  write: (chunk: Buffer) => Promise<void> | undefined,
): ((chunk: Buffer) => Promise<void> | undefined) => {
  const begun = Date.now();
  let bytes = 0;
  let pausedMs = 0;
  return (chunk) => {
    bytes += chunk.length;
    const now = Date.now();
    if (now - begun - pausedMs > formMs + bytes / formBytesPerMs) throw new RequestTimeoutError();
    return write(chunk)?.then(() => {
      pausedMs += Date.now() - now;
    });
  };
};

/**
 * Hands a body on while the answer to it is made. Bytes that have come count, also when the rest does not
 * come: the reader sees an end then.
 * @throws what `answer` throws, else the failure of the body
 */
export const handOn = async <Answer>(
  { body, headers, signal }: Pick<ConnectorRequest, 'body' | 'headers' | 'signal'>,
  times: BodyTimes = bodyTimes,
  answer: (stream?: ReadableStream<Uint8Array>) => Promise<Answer>,
): Promise<Answer> => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    throw new BrokenBodyError('The encoding of the request body is not supported.');
  if (body === undefined) return answer();
  const inlet = createInlet();
  const answered = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const poured = pour(body, {
    signal: AbortSignal.any([signal, answered.signal]),
    stallMs: times.stallMs,
    write: atLeast(times, (chunk) => inlet.write(chunk)),
  })
    .catch((error: unknown) => {
      if (!answered.signal.aborted) failure = { error };
    })
    .finally(() => inlet.end());
  try {
    const made = await answer(inlet.stream);
    if (failure !== undefined) throw failure.error;
    return made;
  } finally {
    answered.abort();
    inlet.destroy();
    await poured;
  }
};
