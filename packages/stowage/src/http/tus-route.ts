import { announcedUploadFields, checkAnnounced } from '../actions/file-upload.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { BrokenBodyError, InternalError, MethodNotAllowedError } from '../errors/errors.ts';
import { parseParameters, textBoundsOf } from '../parameters/fields.ts';
import { ParameterDraft } from '../parameters/raw.ts';
import {
  type AnnouncedUpload,
  type ArrivedFile,
  offeredHeaders,
  TUS_VERSION,
  type TusResponse,
  type TusRequest,
} from './tus/protocol.ts';
import { withBatches } from './body/pour.ts';
import { preflightResponse, type CorsVerdict, refuseCrossSite } from './cors.ts';
import { grant, type GrantedRequest, type RequestScope } from './request-scope.ts';
import { clientWording } from './error-response.ts';
import type { ConnectorRequest, ConnectorResponse } from './message.ts';
import { READ_BEFORE } from './read-input.ts';
import { findAction, runAction } from './run-action.ts';
import type { ResumableUploads } from './tus/resumable-uploads.ts';
import { TUS_ROUTE, type TusPath } from './target.ts';

const announcedBounds = textBoundsOf([announcedUploadFields]);

/**
 * Some proxies pass only GET and POST; the protocol has a header for them. Proxies that cache (Varnish,
 * nginx) send GET for HEAD; `onlyPOST` rejects every GET.
 */
const methodOf = ({ method, headers }: ConnectorRequest, onlyPOST: boolean): string => {
  if (method === 'GET' && !onlyPOST) return 'HEAD';
  const override = headers['x-http-method-override']?.toUpperCase();
  return method === 'POST' && override !== undefined ? override : method;
};

const METHODS = 'POST, HEAD, PATCH, DELETE, OPTIONS';
const requireMethod = (method: string, { id }: TusPath): void => {
  const allowed = id === undefined ? ['POST', 'OPTIONS'] : ['HEAD', 'PATCH', 'DELETE', 'OPTIONS'];
  if (!allowed.includes(method)) throw new MethodNotAllowedError({ headers: { Allow: allowed.join(', ') } });
};

/** The address of a new upload, relative to the request's: valid whatever proxies have removed. */
const locationFor =
  ({ url }: ConnectorRequest) =>
  (id: string): string =>
    url.split('?', 1)[0]?.endsWith('/') === true ? id : `${TUS_ROUTE}/${id}`;

/** A complete file as input of fileUpload. It stays with its owner. */
const uploadOf = ({ destination, bytes, mayBeStored, file, open }: ArrivedFile): UploadedFile => ({
  field: 'files',
  filename: destination.filename,
  staged: {
    size: bytes,
    file,
    open,
    commit: () => Promise.reject(new InternalError({ detail: 'a resumable upload lies in no store' })),
    discard: () => Promise.resolve(),
  },
  stagedIn: undefined,
  mayBeStored,
});

/** The checks and the storing of an upload for a requester; both work like fileUpload. */
const serviceFor = (granted: GrantedRequest): Pick<TusRequest, 'mayContinue' | 'check' | 'store'> => {
  const { scope, sources, access } = granted;
  const { edge, request, about } = scope;
  const { role } = access;
  return {
    mayContinue: ({ owner, destination }: AnnouncedUpload) =>
      owner.role === role &&
      owner.subject === about.subject &&
      owner.tenant === sources.find(destination.source)?.tenant,
    check: async (metadata, upload) => {
      await granted.count('fileUpload');
      const raw = new ParameterDraft(announcedBounds);
      for (const name of ['source', 'path', 'filename']) {
        const value = metadata.get(name) ?? (name === 'filename' ? metadata.get('name') : undefined);
        if (value !== undefined && value !== null) raw.add(name, value);
      }
      const announced = parseParameters(announcedUploadFields, raw.all());
      const checked = await checkAnnounced(granted.actionContext([]), announced, upload);
      const { source, tenant, path, filename, room } = checked;
      Object.assign(about, { source, item: path.toString() });
      const destination = { source, path: path.toString(), filename };
      const { subject } = about;
      const client = edge.clientOf(request, subject, tenant);
      return { owner: { tenant, role, subject }, client, destination, room };
    },
    store: async (file, signal) => {
      const { source, path, filename } = file.destination;
      Object.assign(about, { source, item: [path, filename].filter((part) => part !== '').join('/') });
      scope.isChange = true;
      // The client may disconnect: the file is stored nevertheless, and the response is saved.
      const context = granted.actionContext([uploadOf(file)], { signal, keptRoom: file.id });
      const actionName = 'fileUpload';
      const input = { actionName, parameters: { source, path }, uploads: context.uploads };
      const action = findAction(edge.actions, actionName);
      const { body } = await runAction(action, context, input, request, () => clientWording(scope));
      if (typeof body !== 'string')
        throw new InternalError({ detail: 'the response of an upload is not text' });
      return body;
    },
  };
};

const plainResponse = ({ status, headers, body = '' }: TusResponse): ConnectorResponse => ({
  status,
  headers: {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
    ...(status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  },
  body: body === '' ? undefined : body,
});

/** Resumable uploads (tus 1.0), instead of the eight steps. */
export const handleTus = async (
  resumable: ResumableUploads,
  path: TusPath,
  scope: RequestScope,
  cors: CorsVerdict,
): Promise<ConnectorResponse> => {
  const { edge, request } = scope;
  Object.assign(scope.headers, { 'tus-resumable': TUS_VERSION });
  scope.isTus = true;
  scope.about.action = TUS_ROUTE;
  if (cors.origin === 'failed') throw cors.failure;
  const method = methodOf(request, edge.settings.onlyPOST);
  const { id } = path;
  requireMethod(method, path);
  if (method === 'OPTIONS') {
    const { headers, ...rest } = preflightResponse(request, cors, METHODS, METHODS);
    return { ...rest, headers: { ...headers, ...offeredHeaders } };
  }
  if (edge.settings.refuseCrossSite) refuseCrossSite(request, cors);
  const service = serviceFor(await grant(scope, path.ownSegments));
  const { headers, signal } = request;
  const asked = { method, id, headers, signal, locationOf: locationFor(request), ...service };
  const hasBody = method === 'POST' || method === 'PATCH';
  // Clients would send such a part again and again: no byte of it arrives.
  if (hasBody && request.parsedBody?.isMissing === true) throw new BrokenBodyError(READ_BEFORE);
  const body = hasBody ? request.body : undefined;
  const handled = withBatches({ headers: hasBody ? headers : {}, signal, body }, edge.times, (part) =>
    resumable.handle({ ...asked, ...part }),
  );
  return plainResponse(await handled);
};
