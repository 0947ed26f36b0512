import { envelopeText } from './answers.ts';
import { type Connection, headersOf, urlOf } from './connection.ts';
import type { HeadersOption } from './editor.ts';
import type { Texts } from './texts/texts.ts';

type Data = Readonly<Record<string, unknown>>;

/** The parameters of a request, `action` among them; a list is sent as `names[0]`, `names[1]` … */
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What the connector has answered, or something in front of it. */
export interface Answer {
  readonly success: boolean;
  readonly status: number;
  /** Empty when the answer is none of the connector's. */
  readonly data: Data;
  /** What a person should read of it. */
  readonly message: string;
}

/** An answer that refuses, as an error with the connector's message. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(answer.message);
    this.answer = answer;
  }
}

/** Asks the connector for what Jodit has no request for. */
export interface Calls {
  /** The answer, whatever it says. @throws Error with a text for people when there is none */
  send(fields: Fields, signal?: AbortSignal): Promise<Answer>;
  /** The data of a success. @throws Refusal; the reason of the signal */
  ask(fields: Fields, signal?: AbortSignal): Promise<Data>;
  /** A file. @throws Refusal; the reason of the signal */
  fetchFile(fields: Fields, signal: AbortSignal): Promise<Blob>;
}

/** Whether a value is an object, whose members may be looked at. */
export const isRecord = (value: unknown): value is Data => typeof value === 'object' && value !== null;

const formOf = (fields: Fields): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.append(name, value);
    else value.forEach((one, index) => form.append(`${name}[${String(index)}]`, one));
  }
  return form;
};

const answerOf = async (response: Response, texts: Texts): Promise<Answer> => {
  const { status, statusText } = response;
  const envelope: unknown = JSON.parse(envelopeText(await response.text(), status, statusText, texts));
  const data = isRecord(envelope) && isRecord(envelope['data']) ? envelope['data'] : {};
  const { messages } = data;
  return {
    success: isRecord(envelope) && envelope['success'] === true,
    status,
    data,
    message: Array.isArray(messages) ? messages.join(' ') : texts.noAnswer,
  };
};

/** Makes the requests of an editor, with the headers and the cookies of its connection. */
export const createCalls = (connection: Connection, language: string, texts: Texts): Calls => {
  const headers: HeadersOption = headersOf(connection, language);
  const request = async (fields: Fields, signal?: AbortSignal): Promise<Response> => {
    const sent = typeof headers === 'function' ? await headers() : headers;
    try {
      return await fetch(urlOf(connection), {
        method: 'POST',
        body: formOf(fields),
        headers: sent,
        credentials: connection.credentials ?? 'same-origin',
        signal: signal ?? null,
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new Error(texts.unreachable, { cause: error });
    }
  };
  const send = async (fields: Fields, signal?: AbortSignal): Promise<Answer> =>
    answerOf(await request(fields, signal), texts);
  return {
    send,
    ask: async (fields, signal) => {
      const answer = await send(fields, signal);
      if (answer.success) return answer.data;
      throw new Refusal(answer);
    },
    fetchFile: async (fields, signal) => {
      const response = await request(fields, signal);
      if (response.ok) return response.blob();
      throw new Refusal(await answerOf(response, texts));
    },
  };
};
