import { STATUS_CODES } from 'node:http';
import type { Editor } from '../actions/action.ts';
import { editorFailure } from '../actions/editor-responses.ts';
import { BusyError, FileRefusedByHost, InternalError, isHttpError, StowageError } from '../errors/errors.ts';
import {
  acceptedLanguage,
  languageOf,
  messagesIn,
  nothingUploaded,
  toldIn,
} from '../errors/languages/languages.ts';
import { type ErrorCode, type ErrorDetails, errorTable } from '../errors/table.ts';
import { fromSystemError } from '../basics/files/system-errors.ts';
import { plainValue } from '../basics/log/logger.ts';
import { type ClientWording, errorEnvelope, jsonResponse, type PublicFailure } from './run-action.ts';
import type { ConnectorResponse } from './message.ts';
import type { RequestScope } from './request-scope.ts';

interface Failure extends PublicFailure {
  readonly details: ErrorDetails | undefined;
  /** The message is the host's own, in any language. */
  readonly isHosts?: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** Statuses of range and conditional requests: clients expect them in the status line. */
const alwaysInStatusLine: ReadonlySet<number> = new Set([412, 416]);

/** A hook chooses a status, not a cause; the code is derived from the status. */
const codeOfHook = (status: number): ErrorCode => {
  if (status >= 500) return 'INTERNAL';
  if (status === 401) return 'UNAUTHENTICATED';
  return status === 403 ? 'ACCESS_DENIED' : 'REFUSED_BY_HOST';
};

const describe = (error: unknown): Failure => {
  if (error instanceof StowageError) return error;
  // The system has no descriptor or memory left for a module, a program or state of the service.
  const ofSystem = fromSystemError(error, 'request');
  if (ofSystem instanceof BusyError) return ofSystem;
  if (!isHttpError(error)) return new InternalError();
  const { status, message } = error;
  // A hook written in JavaScript may omit the message; `messages` is shown to users.
  const text = message.trim() === '' ? (STATUS_CODES[status] ?? errorTable.INTERNAL.message) : message;
  return {
    code: codeOfHook(status),
    status,
    messages: [text],
    details: error instanceof FileRefusedByHost ? error.details : undefined,
    isHosts: true,
    headers: {},
  };
};

/** A valid reason phrase: printable ASCII, at most 120 characters; else the English text. */
const reasonPhrase = (message = '', english = ''): string | undefined => {
  const ascii = (/^[\x20-\x7e]*$/u.test(message) ? message : english)
    .replaceAll(/[^\x20-\x7e]+/gu, ' ')
    .trim()
    .slice(0, 120)
    .trim();
  return ascii === '' ? undefined : ascii;
};

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const logFailure = (error: unknown, status: number, scope: RequestScope): void => {
  const { edge, request, milliseconds } = scope;
  const { settings, log } = edge;
  const { id, ...about } = scope.about;
  const ofService = status >= 500;
  if (!ofService && !settings.debug && !settings.logRequests) return;
  log[ofService ? 'error' : 'info']('A request failed.', {
    requestId: id,
    ...about,
    method: request.method,
    // Without the query, which may contain secrets.
    path: request.url.split('?', 1)[0],
    status,
    milliseconds,
    detail: error instanceof StowageError ? error.detail : undefined,
    error: settings.debug && ofService ? error : plainValue(error, false),
  });
};

interface Wording {
  readonly messages: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

const languageFor = ({ request: { headers }, language }: RequestScope) => {
  const named = typeof language === 'string' ? languageOf(language) : undefined;
  if (named !== undefined) return { language: named, headers: { 'content-language': named } };
  const accepted = acceptedLanguage(headers['accept-language'] ?? '');
  if (accepted === undefined) return undefined;
  return { language: accepted, headers: { 'content-language': accepted, vary: 'Accept-Language' } };
};

/** Errors that concern one file of a form, but reject the whole form. */
const OF_A_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ALREADY_EXISTS',
  'BROKEN_IMAGE',
  'FILE_TOO_LARGE',
  'TYPE_NOT_ALLOWED',
  'UNSAFE_NAME',
]);

const wordingOf = (failure: Failure, scope: RequestScope): Wording => {
  const { language, headers } = languageFor(scope) ?? { language: 'en', headers: {} };
  const { form } = scope;
  // While a form arrives, more files may follow.
  const ofSeveral = form.files > 1 || (form.files === 1 && !form.isRead);
  // After a failure of the store some files may remain that could not be removed; a missing folder is missing
  // for all files. Undecodable files, such as HEIC, are rejected before anything is stored.
  const isRefusal = failure.status < 500 || failure.code === 'UNSUPPORTED';
  const isRefused = isRefusal && failure.status !== 404 && failure.details?.['name'] !== undefined;
  const isOfFile = OF_A_FILE.has(failure.code) || isRefused;
  const more = ofSeveral && isOfFile ? [nothingUploaded(language, failure.details)] : [];
  if (failure.isHosts) return { messages: [...failure.messages, ...more], headers: {} };
  return { messages: [...messagesIn(language, failure), ...more], headers };
};

/** The messages to the client of a request, about failures and about successful work, in its language. */
export const clientWording = (scope: RequestScope): ClientWording => ({
  failure: (error) => {
    const failure = describe(error);
    const { code, status } = failure;
    return { code, status, messages: wordingOf(failure, scope).messages };
  },
  messages: (texts) => toldIn(languageFor(scope)?.language ?? 'en', texts),
});

const forEditor = (
  editor: Editor | undefined,
  plain: { readonly status: number; readonly text: string },
  messages: readonly string[],
): typeof plain => {
  const failure = editor && editorFailure(editor, plain.status, messages);
  return failure === undefined ? plain : { status: failure.status, text: JSON.stringify(failure.body) };
};

const textResponse = (
  status: number,
  messages: readonly string[],
  headers: Readonly<Record<string, string>>,
): ConnectorResponse => ({
  status,
  headers: {
    ...headers,
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  },
  body: `${messages.join(' ')}\n`,
});

/**
 * Converts any thrown value into a response and a log entry: only this module knows the wire format of
 * errors. The response contains the public messages only; the rest is logged, with stacks when `debug` is on.
 * Failures of the service are always logged, rejected requests only with `debug`, and failures due to a
 * disconnect never. Until the request has reached an action, the HTTP status is that of the error; afterwards
 * `errorHttpStatus` decides.
 */
export const errorResponse = (error: unknown, scope: RequestScope): ConnectorResponse => {
  const { ofAction, isFile, editor, edge, request } = scope;
  const failure = describe(error);
  const { code, status, details } = failure;
  const { messages, headers: ofWording } = wordingOf(failure, scope);
  const headers = { ...failure.headers, ...ofWording };
  if (!request.signal.aborted) logFailure(error, status, scope);
  if (isFile) return textResponse(status, messages, lowerCase(headers));
  const inStatusLine = !ofAction || edge.settings.errorHttpStatus || alwaysInStatusLine.has(status);
  const plain = {
    status: inStatusLine ? status : 200,
    text: errorEnvelope(status, code, messages, details),
  };
  const response = forEditor(editor, plain, messages);
  return jsonResponse(response.status, response.text, {
    statusText: response.status === status ? reasonPhrase(messages[0], failure.messages[0]) : undefined,
    headers: lowerCase(headers),
  });
};
