import { mayAllowAction } from '../actions/action.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import { mergeParameters, parseQuery, type RawParameters } from '../parameters/raw.ts';
import type { TextBounds } from '../parameters/text-bounds.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { BodyTimes } from './body/pour.ts';
import { readBody } from './body/read-body.ts';
import type { ConnectorRequest } from './message.ts';
import type { RequestScope } from './request-scope.ts';
import { actionParameter, type Target } from './target.ts';
import { createUploadReceiver, editorFor, type UploadContext } from './upload-receiver.ts';

/** All that a request says, after precedence: the path wins over the query, the query over the body. */
export interface RequestInput {
  readonly actionName: string | undefined;
  readonly parameters: RawParameters;
  readonly uploads: readonly UploadedFile[];
}

/**
 * Reads the parameters of a request and receives its files, which `scope` holds from then on.
 * @throws RateLimitedError; AccessDeniedError before the body is read, when nothing in it could make the
 *   action allowed.
 */
export const readInput = async (
  request: ConnectorRequest,
  target: Target,
  context: Omit<UploadContext, 'query' | 'actionName' | 'request' | 'scope'> & {
    readonly times?: BodyTimes | undefined;
    readonly bounds: TextBounds;
  },
  scope: RequestScope,
): Promise<RequestInput> => {
  const { bounds } = context;
  const query = parseQuery(target.query, bounds);
  const actionName = target.action ?? actionParameter(query);
  const { access, actions } = context;
  if (actionName !== undefined && !mayAllowAction(access, actions, actionName, SourcePath.root)) {
    throw new AccessDeniedError();
  }
  await context.admit(actionName);
  const { fields, uploads } = await readBody(
    request,
    { receiver: () => createUploadReceiver({ ...context, request, query, actionName, scope }), bounds },
    context.times,
  );
  scope.holdUploads(uploads);
  scope.form.isRead = true;
  const named = actionName ?? actionParameter(fields) ?? target.prefix;
  const parameters = mergeParameters(query, fields);
  await context.admit(named, parameters);
  scope.language = parameters['language'];
  scope.editor = editorFor({ actions, actionName: named }, undefined, parameters['responseType']);
  return { actionName: named, parameters, uploads };
};
