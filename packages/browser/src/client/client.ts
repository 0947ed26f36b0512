import { type Actions, hasFile } from '../generated/actions.ts';
import { type Answer, beginningOf, isEnvelope, parsed, reasonOf } from './foreign-answer.ts';

/** An unsuccessful response of the service, or of something in front of it. */
export class ConnectorError extends Error {
  override readonly name = 'ConnectorError';
  /** `data.code` of the response, else the HTTP status. */
  readonly code: number;
  /**
   * The cause, for programs: a key of the error table such as `ALREADY_EXISTS`. Undefined when the response
   * is not from the service.
   */
  readonly error: string | undefined;
  /**
   * Messages of the service for the user; for 400 one per problem. Empty when the response is not from the
   * service.
   */
  readonly messages: readonly string[];

  /** The values in the messages, such as `name` and `limit`. */
  readonly details: Readonly<Record<string, string | number>>;
  /**
   * The text of a response that is not from the service, such as `413 Request Entity Too Large` or the title
   * of a login page.
   */
  readonly reason: string | undefined;

  constructor(
    code: number,
    messages: readonly string[],
    error?: string,
    details: Readonly<Record<string, string | number>> = {},
    reason?: string,
  ) {
    super(messages.join(' ') || `The connector answered ${String(code)}.`);
    this.code = code;
    this.messages = messages;
    this.error = error;
    this.details = details;
    this.reason = reason;
  }
}

const appendTo = (form: FormData, name: string, value: unknown): void => {
  if (value instanceof Blob) form.append(name, value);
  else if (Array.isArray(value)) {
    value.forEach((member, index) => appendTo(form, `${name}[${String(index)}]`, member));
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) appendTo(form, `${name}[${key}]`, member);
  } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    form.append(name, String(value));
};

/**
 * Encodes parameters as a multipart form: `{ mods: { limit: 5 } }` as `mods[limit]=5`; undefined and null are
 * left out. Files come last, so that the service knows their destination when they arrive.
 */
const toForm = ({ files, ...fields }: Readonly<Record<string, unknown>>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) appendTo(form, name, value);
  appendTo(form, 'files', files);
  return form;
};

/** Address and options of a connector. */
export interface ClientOptions {
  /**
   * URL of the mount, with or without a trailing slash: `https://www.example.com/connector`, `/api/files`.
   */
  readonly url: string | URL;
  /** Sent with every request, such as a token. A function is called before each request. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /** Whether cookies are sent to another origin; as for `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined;
  /** Another `fetch`, for tests or tracing. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of a single call besides its parameters. */
export interface CallOptions {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

type Arguments<Parameters> =
  Partial<Parameters> extends Parameters
    ? [parameters?: Parameters, options?: CallOptions]
    : [parameters: Parameters, options?: CallOptions];

/** A method that saves its file instead of returning it when the parameter `By` is set. */
interface Saving<Parameters, By extends PropertyKey, Answer, Saved> {
  (parameters: Parameters & Readonly<Record<By, string>>, options?: CallOptions): Promise<Saved>;
  (parameters: Parameters & Readonly<Partial<Record<By, undefined>>>, options?: CallOptions): Promise<Answer>;
  (parameters: Parameters, options?: CallOptions): Promise<Answer | Saved>;
}

type Method<Action> = Action extends {
  readonly parameters: infer Parameters;
  readonly answer: infer Answer;
  readonly saved: { readonly by: infer By extends PropertyKey; readonly answer: infer Saved };
}
  ? Saving<Parameters, By, Answer, Saved>
  : Action extends { readonly parameters: infer Parameters; readonly answer: infer Answer }
    ? (...args: Arguments<Parameters>) => Promise<Answer>
    : never;

/**
 * A method for every action. Actions with a JSON response resolve to its `data`; actions with a file resolve
 * to the response with its unread body, or to `data` where the file is saved. Actions on several items
 * resolve to their results, successful or not.
 * @throws ConnectorError for every other unsuccessful response; errors of `fetch` when there is no response
 */
export type Client = {
  readonly [Name in keyof Actions]: Method<Actions[Name]>;
};

interface Envelope {
  readonly success: unknown;
  readonly data: {
    readonly code?: number;
    readonly error?: string;
    readonly details?: Readonly<Record<string, string | number>>;
    readonly messages?: readonly string[];
    readonly results?: unknown;
  };
}

/**
 * The data of a successful response.
 * @throws ConnectorError for every other; its messages are empty when the response is not from the connector
 */
export const dataOf = <Data>({ status, phrase, text }: Answer): Data => {
  const body = parsed(text);
  if (!isEnvelope(body)) throw new ConnectorError(status, [], undefined, {}, reasonOf(text, status, phrase));
  const { success, data }: Envelope = body;
  // Of several items some may have failed: see `results`.
  if (success === true || Array.isArray(data.results)) return data as Data;
  throw new ConnectorError(data.code ?? status, data.messages ?? [], data.error, data.details);
};

const isOfType = (response: Response, type: string): boolean =>
  response.headers.get('content-type')?.startsWith(type) === true;

/**
 * A client for browsers and servers. Every request is a POST with a form: URLs have no length limit to meet,
 * there is no preflight, and it works with `onlyPOST`.
 */
export const createClient = ({ url, headers, credentials, fetch: own }: ClientOptions): Client => {
  const base = String(url).replace(/\/*$/u, '/');
  const send = own ?? globalThis.fetch.bind(globalThis);

  const methodOf =
    (name: keyof Actions) =>
    async (
      parameters: Readonly<Record<string, unknown>> = {},
      { signal }: CallOptions = {},
    ): Promise<unknown> => {
      const response = await send(`${base}${name}`, {
        method: 'POST',
        body: toForm(parameters),
        headers: (typeof headers === 'function' ? await headers() : headers) ?? {},
        ...(credentials === undefined ? {} : { credentials }),
        signal: signal ?? null,
      });
      const isJson = isOfType(response, 'application/json');
      // No action returns an HTML page: it is one of a login or a proxy, perhaps after a redirect.
      const isOther = isJson || isOfType(response, 'text/html');
      if (hasFile[name] && response.ok && !isOther) return response;
      const text = isJson ? await response.text() : await beginningOf(response);
      return dataOf({ status: response.status, phrase: response.statusText, text });
    };

  const methods = Object.keys(hasFile).map((name) => [name, methodOf(name as keyof Actions)]);
  // Has the same names as `Actions`, and each method returns the result of its action: the types are
  // generated from the same registry.
  return Object.fromEntries(methods) as Client;
};
