import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import type { Access } from '../access/access.ts';
import { type Action, type Editor, editorFor, mayAllowAction } from '../actions/action.ts';
import { withinBounds } from '../basics/content/file-name.ts';
import { policyFor, uploadName } from '../changes/new-name.ts';
import { outOfRoom, quotaOf, roomIn } from '../changes/quota.ts';
import { fileTooLarge, isFilesField, withFileName } from '../changes/uploaded-file.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import type { Quotas } from '../operations/quotas/quotas.ts';
import type { ParameterDraft, RawParameters } from '../parameters/raw.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import { SourcePath } from '../storage/source-path.ts';
import { sourceFor, SourceViews } from '../view/source-views.ts';
import type { StatCaches } from '../view/stat-cache.ts';
import type { FileReceiver, IncomingFile } from './body/multipart.ts';
import type { HookRequest } from './message.ts';
import type { StageUpload } from './request-scope.ts';

/**
 * Is told which action a request asks for, perhaps several times, and at last with all its parameters;
 * rejects what its client has asked for too often.
 */
export type Admit = (actionName: string | undefined, parameters?: RawParameters) => Promise<void>;

export interface UploadContext {
  readonly sources: SourceSet;
  readonly access: Access;
  readonly actions: ReadonlyMap<string, Action>;
  readonly stage: StageUpload;
  readonly admit: Admit;
  readonly quotas: Quotas;
  /** Keeps the sources open beyond the request; returns the way to give them back. */
  readonly holdSources: () => () => void;
  readonly request: HookRequest;
  readonly query: RawParameters;
  /** The action as far as path and query name it; else a field of the form does, perhaps after the files. */
  readonly actionName: string | undefined;
  /** Where the editor is noted that is to be answered, also when a file is refused. */
  readonly scope: {
    editor: Editor | undefined;
    language: unknown;
    readonly statCaches: StatCaches;
    readonly form: { files: number; otherField?: string };
  };
}

class ByteLimit extends Transform {
  readonly #refuse: () => Error;
  readonly #most: number;
  #seen = 0;

  constructor(most: number, refuse: () => Error) {
    super();
    this.#refuse = refuse;
    this.#most = most;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#seen += chunk.length;
    if (this.#seen > this.#most) done(this.#refuse());
    else done(null, chunk);
  }
}

const limited = (
  { content, filename }: IncomingFile,
  { settings }: Source,
  most: number,
  room: number,
): Readable =>
  // Errors reach the reader of the limited stream; the callback only keeps them from the process.
  pipeline(
    content,
    new ByteLimit(Math.min(most, room), () =>
      room < most ? outOfRoom(settings, room) : fileTooLarge(filename, most),
    ),
    () => undefined,
  );

const largestLimit = (sources: SourceSet): number =>
  Math.max(0, ...sources.all.map((source) => source.settings.maxUploadFileSize));

const textOf = (parameters: RawParameters, fields: ParameterDraft, name: string): string | undefined => {
  const inQuery = parameters[name];
  const text = typeof inQuery === 'string' && inQuery !== '' ? inQuery : fields.text(name);
  return text === '' ? undefined : text;
};

/**
 * Whether the action that the request names (so far) takes files. While none is named, it may still become
 * any.
 * @throws AccessDeniedError when no path and no type of file could be allowed.
 */
const takesFiles = ({ actions, access, actionName }: UploadContext, fields: ParameterDraft): boolean => {
  const isDenied = (action: Action): boolean =>
    !mayAllowAction(access, actions, action.name, SourcePath.root);
  const name = actionName ?? fields.text('action');
  if (name === undefined || name === '')
    return [...actions.values()].some((action) => action.takesFiles && !isDenied(action));
  const action = actions.get(name);
  if (action === undefined || !action.takesFiles) return false;
  if (isDenied(action)) throw new AccessDeniedError();
  return true;
};

/** Most bytes of text fields, except for actions that take long texts. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** While no action is named, it may still become any that is not denied. */
const largestText = (
  { actions, access, actionName, sources }: UploadContext,
  fields: ParameterDraft,
): number => {
  const name = actionName ?? fields.text('action') ?? '';
  const possible = name === '' ? [...actions.values()] : [actions.get(name)];
  const isLong = possible.some(
    (action) =>
      action?.takesLongText === true && mayAllowAction(access, actions, action.name, SourcePath.root),
  );
  return isLong ? Math.max(MAX_TEXT_BYTES, largestLimit(sources)) : MAX_TEXT_BYTES;
};

/** The folder that the request has named so far, if a path can lead there. */
const folderNamed = (query: RawParameters, fields: ParameterDraft): SourcePath | undefined => {
  try {
    return SourcePath.parse(textOf(query, fields, 'path') ?? '');
  } catch {
    return undefined;
  }
};

/**
 * Where a file is staged and how large it may be, by what is known of its source so far.
 * @throws StowageError UNKNOWN_SOURCE
 */
const locationFor = (
  { sources, query }: UploadContext,
  fields: ParameterDraft,
): { readonly source: Source; readonly most: number } => {
  const name = textOf(query, fields, 'source');
  const source = sourceFor(sources, name);
  // A later field may still name another source; the action then checks its own limit.
  const most = name === undefined ? largestLimit(sources) : source.settings.maxUploadFileSize;
  return { source, most };
};

/** The sources that a form may mean, by what is known of it so far. */
const possibleSources = (
  { sources, query }: UploadContext,
  fields: ParameterDraft,
): { readonly sourceName: string | undefined; readonly possible: readonly Source[] } => {
  const sourceName = textOf(query, fields, 'source');
  return { sourceName, possible: sourceName === undefined ? sources.all : [sourceFor(sources, sourceName)] };
};

/**
 * Refuses a file for `fileUpload` that no source would take, before its bytes come.
 * @throws TypeNotAllowedError, UnsafeNameError
 */
const refuseName = (context: UploadContext, filename: string, fields: ParameterDraft): void => {
  const { possible } = possibleSources(context, fields);
  const refusals = possible.flatMap(({ settings }) => {
    try {
      uploadName(settings, filename);
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (refusals.length === possible.length && refusals.length > 0) throw refusals[0];
};

/**
 * Refuses all files of a form for `fileUpload` where query or earlier fields name a folder that takes none.
 * Checks that a later field may still change are left to the action.
 * @throws AccessDeniedError, NotFoundError, UnsafePathError
 */
const refuseFolder = async (
  context: UploadContext,
  fields: ParameterDraft,
  checkedFolders: Set<string>,
): Promise<void> => {
  const { sources, actions, access, query, request, scope } = context;
  const { sourceName, possible } = possibleSources(context, fields);
  const path = textOf(query, fields, 'path');
  if (path === undefined) return;
  const folder = SourcePath.parse(path);
  const [source] = possible;
  const key = `${sourceName ?? ''}:${folder.toString()}`;
  if (source === undefined || checkedFolders.has(key)) return;
  scope.statCaches.isWide = true;
  const view = await new SourceViews(sources, access, request, scope.statCaches).of(source);
  if (!mayAllowAction(view, actions, 'fileUpload', folder)) throw new AccessDeniedError();
  // Without a source in the query a later field may name another one.
  if (typeof query['source'] === 'string' || sources.all.length === 1) await view.requireFolder(folder);
  checkedFolders.add(key);
};

/** What a form needs besides its files: text fields, boundaries, headers. */
const FORM_BYTES = MAX_TEXT_BYTES + 64 * 1024;

/**
 * The bytes that the source has room for, as far as the request has named it: a later field may still name
 * another one, and then the action alone decides.
 * @throws QuotaExceededError when the length of the request says that it has too many
 */
const roomFor = async (
  { sources, access, query, quotas, request, holdSources, actionName }: UploadContext,
  fields: ParameterDraft,
): Promise<number> => {
  const name = textOf(query, fields, 'source');
  if (name === undefined && sources.all.length > 1) return Infinity;
  const source = sourceFor(sources, name);
  const isUpload = (actionName ?? fields.text('action')) === 'fileUpload';
  if (!isUpload) return Infinity;
  const target = quotaOf(await new SourceViews(sources, access, request).of(source), holdSources);
  const length = Number(request.headers['content-length'] ?? Infinity);
  const { signal } = request;
  const room = await roomIn(quotas, target, source.settings, { bytes: length, signal });
  if (Number.isFinite(length) && length > room + FORM_BYTES) throw outOfRoom(source.settings, room);
  return room;
};

/**
 * Receives the files of one request into the store of the source they are meant for, and stops each at the
 * source's `maxUploadFileSize`. Files in other fields and files for actions that take none are skipped.
 * Names, types and the final limits are the action's to check.
 */
export const createUploadReceiver = (context: UploadContext): FileReceiver => {
  const { sources, stage, request } = context;
  const checkedFolders = new Set<string>();
  const accept: FileReceiver['accept'] = async (file) => {
    const { field, fields } = file;
    const filename = withinBounds(file.filename);
    const { scope, query } = context;
    scope.language ??= fields.text('language');
    const named = context.actions.get(context.actionName ?? fields.text('action') ?? '');
    scope.editor ??= editorFor(named, textOf(query, fields, 'responseType'));
    const isFiles = (source: Source): boolean => scope.editor !== undefined || isFilesField(field, source);
    if (!takesFiles(context, fields)) return undefined;
    if (!sources.all.some(isFiles)) {
      scope.form.otherField ??= field;
      return undefined;
    }
    scope.form.files += 1;
    const actionName = context.actionName ?? fields.text('action');
    // A form that names no action yet is an upload in any case.
    await context.admit(actionName === undefined || actionName === '' ? 'fileUpload' : actionName);
    const isUpload = actionName === 'fileUpload';
    if (isUpload) await refuseFolder(context, fields, checkedFolders);
    return withFileName(filename, async () => {
      if (isUpload) refuseName(context, filename, fields);
      const { source, most } = locationFor(context, fields);
      const storage = await source.storage();
      const room = await roomFor(context, fields);
      const isReadWhole = policyFor(source.settings, filename) !== undefined;
      const near = folderNamed(query, fields);
      const options = { signal: request.signal, isReadWhole, near };
      return () =>
        withFileName(filename, async () => {
          const staged = await stage(storage, limited({ ...file, filename }, source, most, room), options);
          return { field, filename, staged, stagedIn: storage, near };
        });
    });
  };
  return {
    // Only asked for forms.
    get largestFile() {
      return largestLimit(sources);
    },
    largestText: (fields) => largestText(context, fields),
    accept,
  };
};
