import { sanitizeName } from '../basics/content/file-name.ts';
import { mediaTypeOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { humanSize } from '../basics/content/human-size.ts';
import type { InspectionVerdict } from '../config/event.ts';
import { FileRefusedByHost, FileTooLargeError, isHttpError, StowageError } from '../errors/errors.ts';
import type { ImageEditor } from '../pictures/image-editor.ts';
import type { Source } from '../sources/source.ts';
import type { About } from '../storage/about/about.ts';
import type { ReadableStore, StagedFile } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import type { ChangeContext } from './change.ts';

/**
 * A file of a form that has arrived whole and is stored without a name in any source yet. Discarded when
 * the request ends.
 */
export interface UploadedFile {
  /** Form field as sent: `files[0]`. */
  readonly field: string;
  /** Last path segment of the name as sent, valid UTF-8, not sanitised. */
  readonly filename: string;
  readonly staged: StagedFile;
  /** Where it is staged: committing into this store costs no second copy. */
  readonly stagedIn: ReadableStore | undefined;
  /** What the host wants it to be called, instead. */
  readonly otherName?: string | undefined;
  /** The folder that it is meant for, as far as the request has named it. */
  readonly near?: SourcePath | undefined;
  /** Cleaning has removed something that a browser would have drawn or run. */
  readonly isReduced?: boolean;
  /** What has come of the look at it; undefined before, and where nothing looks. */
  readonly inspection?: InspectionVerdict | undefined;
  /** An earlier try to store it has ended without an answer: it may have succeeded. */
  readonly mayBeStored?: boolean;
}

/** What a picture says about itself, as it was sent: what is stored of it may say less. @throws the signal's reason */
export const textsOfSent = async (
  {
    services: { images },
    signal,
  }: { readonly services: { readonly images: Pick<ImageEditor, 'texts'> }; readonly signal: AbortSignal },
  { settings }: Source,
  { staged }: Pick<UploadedFile, 'staged'>,
  filename: string,
): Promise<About | undefined> =>
  settings.readTexts && mimeTypeOf(filename).startsWith('image/')
    ? images.texts({ size: staged.size, open: () => staged.open() }, signal)
    : undefined;

/** Parts of one form at most: fields and files. */
export const MAX_FORM_PARTS = 1000;

/** Whether a form field holds uploads: `files`, `files[]`, `files[0]`, or the source's own field name. */
export const isFilesField = (field: string, { settings }: Source): boolean =>
  field === settings.defaultFilesKey || /^files(?:\[\d*\])?$/u.test(field);

/**
 * The refusal of an uploaded file, by the name that the client gave it: of many files people must know which
 * one. `most` in bytes.
 */
export const fileTooLarge = (filename: string, most: number): FileTooLargeError =>
  new FileTooLargeError({ details: { name: sanitizeName(filename), limit: humanSize(most) } });

/**
 * Does something with an uploaded file; its failure names the file: of many, people must know which one. Where
 * the failure is about the name that it would have been stored under, `file` is the one that was sent.
 */
export const withFileName = async <Result>(
  filename: string,
  work: () => Promise<Result> | Result,
): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const sent = sanitizeName(filename);
    if (isHttpError(error)) throw new FileRefusedByHost(error, { name: sent }, error);
    if (error instanceof StowageError) {
      const { name = sent } = error.details ?? {};
      error.addDetails(name === sent ? { name } : { file: sent });
    }
    throw error;
  }
};

/** As `withFileName` where the file is one of a form; else its failure says nothing more. */
export const withFileNameIf = async <Result>(
  isForm: boolean,
  filename: string,
  work: () => Promise<Result> | Result,
): Promise<Result> => (isForm ? withFileName(filename, work) : work());

/** What a look at content needs of a request. */
export type InspectionContext = Pick<ChangeContext, 'requester' | 'signal'> & {
  readonly services: Pick<ChangeContext['services'], 'inspector'>;
};

/**
 * Has staged content looked at that is wanted under a path. Undefined: nothing looks at what enters the source.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host; the signal's reason
 */
export const inspectStaged = (
  { requester: { role, subject }, services, signal }: InspectionContext,
  { source }: SourceView,
  path: SourcePath,
  staged: Pick<StagedFile, 'size' | 'open'>,
): Promise<InspectionVerdict | undefined> => {
  const { name, parent } = path;
  const upload = {
    source: source.name,
    tenant: source.tenant,
    path: parent.isRoot ? '/' : parent.toString(),
    name,
    mime: mediaTypeOf(name),
    bytes: staged.size,
    role,
    subject,
    open: () => staged.open(),
  };
  return services.inspector.inspect(upload, source.settings, signal);
};

/**
 * An uploaded file that has been looked at, as it was sent: once, however often it is asked for. What decodes it
 * earlier than the stage of a change does has it looked at by this. @throws as `inspectStaged`
 */
export const inspected = async (
  context: InspectionContext,
  open: SourceView,
  path: SourcePath,
  file: UploadedFile,
): Promise<UploadedFile> =>
  file.inspection === undefined
    ? { ...file, inspection: await inspectStaged(context, open, path, file.staged) }
    : file;
