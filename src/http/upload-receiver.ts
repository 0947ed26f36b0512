import { Transform, pipeline, type Readable, type TransformCallback } from 'node:stream';
import { accessKeyOf, type Action } from '../actions/action.ts';
import { fileTooLarge } from '../actions/file-too-large.ts';
import { isFilesField } from '../actions/form-files.ts';
import { sourceFor } from '../actions/select-source.ts';
import type { UploadedFile } from '../actions/uploaded-file.ts';
import type { Access } from '../access/access.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import type { FormFields } from '../parameters/form-fields.ts';
import type { RawParameters } from '../parameters/raw.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { OperationOptions, StagedFile, StorageAdapter } from '../storage/adapter.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { FileReceiver, IncomingFile } from './body/multipart.ts';
import type { HookRequest } from './message.ts';

/** Stores content without a name, as near to the store as it can. Owns the content. */
export type StageUpload = (
  storage: StorageAdapter,
  content: Readable,
  options: OperationOptions,
) => Promise<StagedFile>;

/** What receiving the files of one request needs. */
export interface UploadContext {
  readonly sources: SourceSet;
  readonly access: Access;
  readonly actions: ReadonlyMap<string, Action>;
  readonly stage: StageUpload;
  readonly request: HookRequest;
  readonly query: RawParameters;
  /** The action as far as path and query name it; else a field of the form does, perhaps after the files. */
  readonly actionName: string | undefined;
}

/** Passes bytes on and fails when there are too many. */
class ByteLimit extends Transform {
  readonly #filename: string;
  readonly #most: number;
  #seen = 0;

  constructor(filename: string, most: number) {
    super();
    this.#filename = filename;
    this.#most = most;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#seen += chunk.length;
    if (this.#seen > this.#most) done(fileTooLarge(this.#filename, this.#most));
    else done(null, chunk);
  }
}

const limited = ({ content, filename }: IncomingFile, most: number): Readable =>
  // Errors reach the reader of the limited stream; the callback only keeps them from the process.
  pipeline(content, new ByteLimit(filename, most), () => undefined);

const largestLimit = (sources: SourceSet): number =>
  Math.max(0, ...sources.all.map((source) => source.settings.maxUploadFileSize));

const textOf = (parameters: RawParameters, fields: FormFields, name: string): string | undefined => {
  const inQuery = parameters[name];
  const text = typeof inQuery === 'string' && inQuery !== '' ? inQuery : fields.text(name);
  return text === '' ? undefined : text;
};

/**
 * Whether the action that the request names (so far) takes files. While none is named, it may still become any.
 * @throws AccessDeniedError when no path and no type of file could be allowed.
 */
const takesFiles = ({ actions, access, actionName }: UploadContext, fields: FormFields): boolean => {
  const isDenied = (action: Action): boolean => !access.mayAllow(accessKeyOf(action.name), SourcePath.root);
  const name = actionName ?? fields.text('action');
  if (name === undefined || name === '') {
    return [...actions.values()].some((action) => action.takesFiles && !isDenied(action));
  }
  const action = actions.get(name);
  if (action === undefined || !action.takesFiles) return false;
  if (isDenied(action)) throw new AccessDeniedError();
  return true;
};

/**
 * Where a file is staged and how large it may be, by what is known of its source so far.
 * @throws StowageError UNKNOWN_SOURCE
 */
const placeFor = (
  { sources, query }: UploadContext,
  fields: FormFields,
): { readonly source: Source; readonly most: number } => {
  const name = textOf(query, fields, 'source');
  const source = sourceFor(sources, name);
  // A later field may still name another source; the action then checks its own limit.
  const most = name === undefined ? largestLimit(sources) : source.settings.maxUploadFileSize;
  return { source, most };
};

/**
 * Receives the files of one request into the store of the source they are meant for, and stops each at the source's
 * `maxUploadFileSize`. Files in other fields and files for actions that take none are skipped. Names, types and the final
 * limits are the action's to check.
 */
export const createUploadReceiver = (context: UploadContext): FileReceiver => {
  const { sources, stage, request } = context;
  const receive = async (file: IncomingFile): Promise<UploadedFile | undefined> => {
    const { field, filename, fields } = file;
    if (!takesFiles(context, fields) || !sources.all.some((source) => isFilesField(field, source)))
      return undefined;
    const { source, most } = placeFor(context, fields);
    const storage = await source.storage();
    const staged = await stage(storage, limited(file, most), { signal: request.signal });
    return { field, filename, staged, stagedIn: storage };
  };
  return {
    // Only asked for forms.
    get largestFile() {
      return largestLimit(sources);
    },
    receive,
  };
};
