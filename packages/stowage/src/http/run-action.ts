import {
  accessKeyOf,
  mayAllowAction,
  type Action,
  type ActionContext,
  type ActionResult,
} from '../actions/action.ts';
import {
  EditorAnswer,
  FileAnswer,
  HandedOverAnswer,
  MadeFileAnswer,
  ManyAnswer,
} from '../actions/file-answer.ts';
import type { Access } from '../access/access.ts';
import type { Turns } from '../basics/concurrency/turns.ts';
import { AccessDeniedError, ChangedMeanwhileError, UnknownActionError } from '../errors/errors.ts';
import { parseParameters } from '../parameters/parse.ts';
import type { RawValue } from '../parameters/raw.ts';
import { SourcePath } from '../storage/source-path.ts';
import { headersOfJson, jsonResponse, SUCCESS_CODE } from './envelope.ts';
import { fileResponse, madeFileResponse } from './file-response.ts';
import { writeJson } from './json-stream.ts';
import { manyResults, type ToldFailure } from './many-results.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';
import type { RequestInput } from './read-input.ts';

const folderOf = (path: RawValue | undefined): SourcePath => {
  try {
    return typeof path === 'string' ? SourcePath.parse(path) : SourcePath.root;
  } catch {
    return SourcePath.root;
  }
};

/**
 * The access check before an action: refuses when the rules deny it for `path` and all that lies there,
 * whatever the other parameters are. The action checks requests that pass item by item.
 * @throws AccessDeniedError
 */
export const requireAccess = (
  access: Access,
  actions: ReadonlyMap<string, Action>,
  { actionName, parameters }: RequestInput,
): void => {
  if (actionName === undefined) return;
  const folder = folderOf(parameters['path']);
  if (!mayAllowAction(access, actions, actionName, folder)) throw new AccessDeniedError();
};

/** @throws UnknownActionError */
export const findAction = (actions: ReadonlyMap<string, Action>, name: string | undefined): Action => {
  const action = name === undefined ? undefined : actions.get(name);
  if (action !== undefined) return action;
  const messages = name === undefined ? ['No action is given.'] : [];
  throw new UnknownActionError({ messages });
};

const dataResponse = async (
  data: object,
  { method }: HookRequest,
  turns: Turns,
): Promise<ConnectorResponse> => {
  const json = await writeJson({ success: true, data: { code: SUCCESS_CODE, ...data } }, turns);
  if (typeof json === 'string') return jsonResponse(200, json);
  if (method !== 'HEAD') return { status: 200, headers: headersOfJson, body: json };
  json.destroy();
  return { status: 200, headers: headersOfJson, body: undefined };
};

/** How often a download starts over because its file was replaced between the headers and the bytes. */
const MOST_STARTS = 3;

/**
 * Runs an action until its answer is of one piece: headers of one version of a file never go with bytes of
 * another.
 */
export const answerWhole = async (
  run: () => Promise<Exclude<ActionResult, ManyAnswer> | HandedOverAnswer>,
  request: HookRequest,
  turns: Turns,
  starts = 1,
): Promise<ConnectorResponse> => {
  const result = await run();
  if (result instanceof HandedOverAnswer) return { ...result, body: undefined };
  if (result instanceof EditorAnswer) return jsonResponse(200, JSON.stringify(result.body));
  if (result instanceof MadeFileAnswer) return madeFileResponse(result, request);
  if (!(result instanceof FileAnswer)) return dataResponse(result, request, turns);
  try {
    return await fileResponse(result, request);
  } catch (error) {
    if (!(error instanceof ChangedMeanwhileError) || starts === MOST_STARTS) throw error;
    return answerWhole(run, request, turns, starts + 1);
  }
};

/** How answers are told to a client. */
export interface ClientWording {
  readonly failure: (error: unknown) => ToldFailure;
  readonly messages: (texts: readonly string[]) => readonly string[];
}

const worded = <Result extends object>(result: Result, { messages: told }: ClientWording): Result => {
  const messages: unknown = 'messages' in result ? result.messages : undefined;
  return Array.isArray(messages) ? { ...result, messages: told(messages as string[]) } : result;
};

/** Checks the parameters, runs the action and turns its result into an answer. */
export const runAction = async (
  action: Action,
  context: ActionContext,
  input: RequestInput,
  request: HookRequest,
  wording: ClientWording,
): Promise<ConnectorResponse> => {
  let parameters: unknown;
  try {
    parameters = parseParameters(action.parameters, input.parameters);
  } catch (error) {
    // What kind of item it is about remains unknown: then the key that the action's name promises decides
    // first.
    const folder = folderOf(input.parameters['path']);
    if (!context.access.mayAllow(accessKeyOf(action.name), folder)) throw new AccessDeniedError();
    throw error;
  }
  return answerWhole(
    async () => {
      const result = await action.run(context, parameters);
      if (result instanceof ManyAnswer) return manyResults(result, wording.failure, context.log);
      return worded(result, wording);
    },
    request,
    context.services.turns,
  );
};
