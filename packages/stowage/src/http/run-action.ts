import type { ErrorCode, ErrorDetails } from '../errors/table.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';
import {
  EditorResponse,
  FileResponse,
  DelegatedResponse,
  GeneratedFileResponse,
  BatchResponse,
} from '../actions/responses.ts';
import type { Logger } from '../basics/log/logger.ts';
import { accessKeyOf, type Action, type ActionContext, type ActionResult } from '../actions/action.ts';
import type { YieldToLoop } from '../basics/concurrency/time-slice.ts';
import * as errors from '../errors/errors.ts';
import { parseParameters } from '../parameters/fields.ts';
import type { RawValue } from '../parameters/raw.ts';
import { SourcePath } from '../storage/source-path.ts';
import { fileResponse, generatedFileResponse } from './file-response.ts';
import type { RequestInput } from './read-input.ts';
import { writeJson } from './representation.ts';
import type { GrantedRequest } from './request-scope.ts';

const jsonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** `data.code` of every success. */
export const SUCCESS_CODE = 220;

export const jsonResponse = (
  status: number,
  text: string,
  more: {
    readonly statusText?: string | undefined;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): ConnectorResponse => ({
  status,
  statusText: more.statusText,
  headers: { ...jsonHeaders, 'content-length': String(Buffer.byteLength(text)), ...more.headers },
  body: text,
});

/** The envelope of every error: `{success: false, data: {code, error, messages, details?}}`. */
export const errorEnvelope = (
  code: number,
  error: ErrorCode,
  messages: readonly string[],
  details?: ErrorDetails,
): string => JSON.stringify({ success: false, data: { code, error, messages, details } });

export const pingResponse = (): ConnectorResponse => jsonResponse(200, '{"success":true}');

export interface PublicFailure {
  /** Key of the error table, for programs. */
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: readonly string[];
}

/**
 * The envelope with a result for each item: a success when all are, else with the code of the first failure
 * and a message for each. Failures of the service are logged.
 */
export const manyResults = (
  { outcomes }: BatchResponse,
  describe: (error: unknown) => PublicFailure,
  log: Logger,
): EditorResponse => {
  const results = outcomes.map(({ name, failure, newName }) => {
    if (failure === undefined) {
      const isOther = newName !== undefined && newName !== name.slice(name.lastIndexOf('/') + 1);
      return { name, success: true, code: SUCCESS_CODE, ...(isOther ? { newname: newName } : {}) };
    }
    const { code, status, messages } = describe(failure.error);
    if (status >= 500)
      log.error('One of several items failed.', { item: name, status, error: failure.error });
    return { name, success: false, code: status, error: code, message: messages.join(' ') };
  });
  const failed = results.filter(({ success }) => !success);
  const [first] = failed;
  if (first === undefined)
    return new EditorResponse({ success: true, data: { code: SUCCESS_CODE, results } });
  const messages = failed.map(({ name, message = '' }) => `${name}: ${message}`);
  return new EditorResponse({
    success: false,
    data: { code: first.code, error: first.error, messages, results },
  });
};

const folderOf = (path: RawValue | undefined): SourcePath =>
  errors.orUndefined(() => SourcePath.parse(typeof path === 'string' ? path : '')) ?? SourcePath.root;

/**
 * The access check before an action: rejects when the rules deny it for `path` and everything below,
 * regardless of the other parameters. The action itself checks each item.
 * @throws AccessDeniedError
 */
export const requireAccess = (granted: GrantedRequest, { actionName, parameters }: RequestInput): void => {
  if (actionName === undefined) return;
  if (!granted.mayAllow(actionName, folderOf(parameters['path']))) throw new errors.AccessDeniedError();
};

/** @throws UnknownActionError */
export const findAction = (actions: ReadonlyMap<string, Action>, name: string | undefined): Action => {
  const action = name === undefined ? undefined : actions.get(name);
  if (action !== undefined) return action;
  const messages = name === undefined ? ['No action is given.'] : [];
  throw new errors.UnknownActionError({ messages });
};

const valueResponse = async (value: object, { method }: HookRequest, yieldToLoop: YieldToLoop) => {
  const json = await writeJson(value, yieldToLoop);
  if (typeof json === 'string') return jsonResponse(200, json);
  if (method !== 'HEAD') return { status: 200, headers: jsonHeaders, body: json };
  json.destroy();
  return { status: 200, headers: jsonHeaders, body: undefined };
};

/** Most attempts of a download whose file is replaced, or moves away, between the headers and the bytes. */
const MOST_STARTS = 3;

/** Runs an action until its response is consistent: headers and bytes are of the same version of a file. */
export const runToResponse = async (
  run: () => Promise<Exclude<ActionResult, BatchResponse> | DelegatedResponse>,
  request: HookRequest,
  yieldToLoop: YieldToLoop,
  starts = 1,
): Promise<ConnectorResponse> => {
  const result = await run();
  if (result instanceof DelegatedResponse) return { ...result, body: undefined };
  if (result instanceof EditorResponse) return valueResponse(result.body, request, yieldToLoop);
  if (result instanceof GeneratedFileResponse) return generatedFileResponse(result, request);
  if (!(result instanceof FileResponse)) {
    const data = { code: SUCCESS_CODE, ...result };
    return valueResponse({ success: true, data }, request, yieldToLoop);
  }
  try {
    return await fileResponse(result, request);
  } catch (error) {
    const isOutdated = error instanceof errors.ChangedMeanwhileError || error instanceof errors.NotFoundError;
    if (!isOutdated || starts === MOST_STARTS) throw error;
    return runToResponse(run, request, yieldToLoop, starts + 1);
  }
};

export interface ClientWording {
  readonly failure: (error: unknown) => PublicFailure;
  readonly messages: (texts: readonly string[]) => readonly string[];
}

const worded = <Result extends object>(result: Result, wording: () => ClientWording): Result => {
  const messages: unknown = 'messages' in result ? result.messages : undefined;
  return Array.isArray(messages) ? { ...result, messages: wording().messages(messages as string[]) } : result;
};

/** Validates the parameters, runs the action and converts its result into a response. */
export const runAction = async (
  action: Action,
  context: ActionContext,
  input: RequestInput,
  request: HookRequest,
  wording: () => ClientWording,
): Promise<ConnectorResponse> => {
  let parameters: unknown;
  try {
    parameters = parseParameters(action.parameters, input.parameters);
  } catch (error) {
    // The kind of the item is still unknown, so access is decided by the key of the action's name: a denial
    // takes precedence over the invalid parameters.
    const folder = folderOf(input.parameters['path']);
    if (!context.views.mayAllow(accessKeyOf(action.name), folder)) throw new errors.AccessDeniedError();
    throw error;
  }
  let isAgain = false;
  return runToResponse(
    async () => {
      if (isAgain) context.views.forget();
      isAgain = true;
      const result = await action.run(context, parameters);
      if (result instanceof BatchResponse) return manyResults(result, wording().failure, context.log);
      return worded(result, wording);
    },
    request,
    context.services.yieldToLoop,
  );
};
