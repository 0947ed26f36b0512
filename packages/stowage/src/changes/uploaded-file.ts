import { shownName } from '../basics/content/file-name.ts';
import { mediaTypeOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { humanSize } from '../basics/content/message-values.ts';
import type { InspectionVerdict } from '../config/event.ts';
import { FileRefusedByHost, FileTooLargeError, isHttpError, StowageError } from '../errors/errors.ts';
import type { ImageEditor } from '../pictures/image-editor.ts';
import type { Source } from '../sources/source.ts';
import type { About } from '../storage/about/about.ts';
import type { ReadableStore, StagedFile } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import type { ChangeContext } from './change.ts';

/** A complete file of a form, staged without a name in any source. Discarded when the request ends. */
export interface UploadedFile {
  /** Form field as sent: `files[0]`. */
  readonly field: string;
  /** Last path segment of the name as sent, valid UTF-8, not sanitised. */
  readonly filename: string;
  readonly staged: StagedFile;
  /** The store of the staged file: committing into this store costs no second copy. */
  readonly stagedIn: ReadableStore | undefined;
  /** Name that the host chose instead. */
  readonly otherName?: string | undefined;
  /** The target folder, where the request has named it already. */
  readonly near?: SourcePath | undefined;
  /** Cleaning removed visible or active content. */
  readonly isReduced?: boolean;
  /** Verdict of the inspection; undefined before it, and where there is none. */
  readonly inspection?: InspectionVerdict | undefined;
  /** An earlier attempt to store it ended without a response: it may have succeeded. */
  readonly mayBeStored?: boolean;
}

/** Texts from the metadata of a picture as uploaded; processing may drop some. @throws the signal's reason */
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

/** Limit for the parts of one form: fields and files. */
export const MAX_FORM_PARTS = 1000;

/** Whether a form field holds uploads: `files`, `files[]`, `files[0]`, or the source's own field name. */
export const isFilesField = (field: string, { settings }: Source): boolean =>
  field === settings.defaultFilesKey || /^files(?:\[\d*\])?$/u.test(field);

/** The error for an uploaded file that is too large, with the name that the client sent. `most` in bytes. */
export const fileTooLarge = (filename: string, most: number): FileTooLargeError =>
  new FileTooLargeError({ details: { name: shownName(filename), limit: humanSize(most) } });

/**
 * Runs `work` for an uploaded file and adds the file's name as sent to its errors, so that users know which
 * of several files failed. Where the error concerns the name it would have been stored under, `file` holds
 * the sent one.
 */
export const withFileName = async <Result>(
  filename: string,
  work: () => Promise<Result> | Result,
): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const sent = shownName(filename);
    if (isHttpError(error)) throw new FileRefusedByHost(error, { name: sent }, error);
    if (error instanceof StowageError) {
      const { name = sent } = error.details ?? {};
      error.addDetails(name === sent ? { name } : { file: sent });
    }
    throw error;
  }
};

/** As `withFileName` when the file is part of a form; else errors stay unchanged. */
export const withFileNameIf = async <Result>(
  isForm: boolean,
  filename: string,
  work: () => Promise<Result> | Result,
): Promise<Result> => (isForm ? withFileName(filename, work) : work());

/** What hooks about the content of a file learn of its path and type. */
export const toldOfFile = ({ name: source, tenant }: Source, { name, parent }: SourcePath) => {
  const path = parent.isRoot ? '/' : parent.toString();
  return { source, tenant, path, name, mime: mediaTypeOf(name) };
};

export type InspectionContext = Pick<ChangeContext, 'requester' | 'signal'> & {
  readonly services: Pick<ChangeContext['services'], 'inspector'>;
};

/**
 * Has staged content inspected under its wanted path. Undefined when the source has no inspection.
 * @throws RefusedByInspectionError, InspectionUnavailableError; errors of the host; the signal's reason
 */
export const inspectStaged = (
  { requester: { role, subject }, services, signal }: InspectionContext,
  { source }: SourceView,
  path: SourcePath,
  staged: Pick<StagedFile, 'size' | 'open'>,
): Promise<InspectionVerdict | undefined> => {
  const upload = {
    ...toldOfFile(source, path),
    bytes: staged.size,
    role,
    subject,
    open: () => staged.open(),
  };
  return services.inspector.inspect(upload, source.settings, signal);
};

/**
 * The uploaded file with the verdict on its content as sent; inspects it only once. Code that decodes content
 * before the inspection stage calls this first. @throws as `inspectStaged`
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
