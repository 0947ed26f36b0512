import type { Readable } from 'node:stream';
import * as z from 'zod';
import { type Action, editorFor, mayAllowAction } from '../actions/action.ts';
import { withinBounds } from '../basics/content/file-name.ts';
import { limited } from '../basics/content/parse-budget.ts';
import { policyFor, uploadName } from '../changes/new-name.ts';
import { outOfRoom, quotaOf, roomIn } from '../changes/quota.ts';
import { fileTooLarge, isFilesField, withFileName } from '../changes/uploaded-file.ts';
import { AccessDeniedError, orUndefined } from '../errors/errors.ts';
import { parseParameters, pathField } from '../parameters/fields.ts';
import type { ParameterDraft, RawParameters } from '../parameters/raw.ts';
import type { Source } from '../sources/source.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import type { FileReceiver, IncomingFile } from './body/multipart.ts';
import type { GrantedRequest } from './request-scope.ts';

const fitting = (
  { content, filename }: Pick<IncomingFile, 'content' | 'filename'>,
  { settings }: Source,
  most: number,
  room: number,
): Readable =>
  limited(content, Math.min(most, room), () =>
    room < most ? outOfRoom(settings, room) : fileTooLarge(filename, most),
  );

/** The folder as actions read it, so that the error for an invalid path is the same. */
const inFolder = z.object({ path: pathField });

/** Maximum bytes of text fields, except for actions that take long texts. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Allowance for a form besides its files: text fields, boundaries, headers. */
const FORM_BYTES = MAX_TEXT_BYTES + 64 * 1024;

/**
 * Receives the files of a request into the store of their source, and limits each to the source's
 * `maxUploadFileSize`. Files in other fields, and files for actions that take none, are skipped. Names, types
 * and final limits are checked by the action: fields after the files may still change the request.
 */
export class UploadReceiver implements FileReceiver {
  readonly #granted: GrantedRequest;
  readonly #query: RawParameters;
  readonly #actionName: string | undefined;
  readonly #checkedFolders = new Set<string>();

  /** @param actionName if path or query name it; else a field of the form does, perhaps after the files */
  constructor(granted: GrantedRequest, query: RawParameters, actionName: string | undefined) {
    this.#granted = granted;
    this.#query = query;
    this.#actionName = actionName;
  }

  get largestFile(): number {
    return Math.max(0, ...this.#granted.sources.all.map(({ settings }) => settings.maxUploadFileSize));
  }

  largestText(fields: ParameterDraft): number {
    const isLong = this.#possibleActions(fields).some(
      ({ name, takesLongText = false }) => takesLongText && this.#granted.mayAllow(name),
    );
    return isLong ? Math.max(MAX_TEXT_BYTES, this.largestFile) : MAX_TEXT_BYTES;
  }

  async accept(file: IncomingFile): ReturnType<FileReceiver['accept']> {
    const { field, fields } = file;
    const { scope } = this.#granted;
    const filename = withinBounds(file.filename);
    const actionName = this.#nameOfAction(fields);
    scope.noteAction(actionName);
    scope.language ??= fields.text('language');
    scope.editor ??= editorFor(scope.edge.actions.get(actionName), this.#text(fields, 'responseType'));
    if (!this.#takesFiles(fields)) return undefined;
    if (!this.#possibleSources(fields).some((source) => this.#isUploadField(field, source))) {
      scope.form.otherField ??= field;
      return undefined;
    }
    scope.form.files += 1;
    // Until a form names its action, it counts as an upload.
    await this.#granted.count(actionName === '' ? 'fileUpload' : actionName);
    const isUpload = actionName === 'fileUpload';
    if (isUpload) await this.#refuseFolder(fields);
    return withFileName(filename, async () => {
      if (isUpload) this.#refuseName(filename, file);
      return this.#receiving(file, filename, isUpload);
    });
  }

  /** Store and maximum size of the file, by what is known of its source so far. */
  async #receiving({ field, fields, content }: IncomingFile, filename: string, isUpload: boolean) {
    const { scope, sources, views } = this.#granted;
    const name = this.#text(fields, 'source');
    const source = views.first(name);
    // A later field may name another source; the action then checks that source's limit.
    const most = name === undefined ? this.largestFile : source.settings.maxUploadFileSize;
    const storage = await source.storage();
    const isKnown = name !== undefined || sources.all.length === 1;
    const room = isUpload && isKnown ? await this.#roomIn(source) : Infinity;
    const isReadWhole = policyFor(source.settings, filename) !== undefined;
    const near = this.#folder(fields);
    const options = { signal: scope.request.signal, isReadWhole, near };
    const received = { content, filename };
    return () =>
      withFileName(filename, async () => {
        const staged = await scope.edge.stageUpload(storage, fitting(received, source, most, room), options);
        return { field, filename, staged, stagedIn: storage, near };
      });
  }

  #text(fields: ParameterDraft, name: string): string | undefined {
    const inQuery = this.#query[name];
    const text = typeof inQuery === 'string' && inQuery !== '' ? inQuery : fields.text(name);
    return text === '' ? undefined : text;
  }

  /** Empty until the form names one. */
  #nameOfAction(fields: ParameterDraft): string {
    return this.#actionName ?? fields.text('action') ?? '';
  }

  /** Until the request names an action, all are possible. */
  #possibleActions(fields: ParameterDraft): readonly Action[] {
    const { actions } = this.#granted.scope.edge;
    const name = this.#nameOfAction(fields);
    if (name === '') return [...actions.values()];
    const action = actions.get(name);
    return action === undefined ? [] : [action];
  }

  /** Whether the action, as known so far, takes files. @throws AccessDeniedError if none are allowed */
  #takesFiles(fields: ParameterDraft): boolean {
    const taking = this.#possibleActions(fields).filter(({ takesFiles }) => takesFiles);
    const isAllowed = taking.some(({ name }) => this.#granted.mayAllow(name));
    if (taking.length > 0 && !isAllowed && this.#nameOfAction(fields) !== '') throw new AccessDeniedError();
    return isAllowed;
  }

  /** The sources that a form may mean, as known so far. @throws UnknownSourceError */
  #possibleSources(fields: ParameterDraft): readonly Source[] {
    const { sources, views } = this.#granted;
    const name = this.#text(fields, 'source');
    return name === undefined ? sources.all : [views.first(name)];
  }

  /** Whether a form for the source has uploads in the field; with `responseType` all fields may have them. */
  #isUploadField(field: string, source: Source): boolean {
    return this.#granted.scope.editor !== undefined || isFilesField(field, source);
  }

  /** The folder of the request, as known so far; undefined for an invalid path. */
  #folder(fields: ParameterDraft): SourcePath | undefined {
    return orUndefined(() => SourcePath.parse(this.#text(fields, 'path') ?? ''));
  }

  #view(source: Source): Promise<SourceView> {
    const { views } = this.#granted;
    views.isWide = true;
    return views.of(source);
  }

  /** Rejects a file for `fileUpload` before its bytes arrive if each source would reject it. */
  #refuseName(filename: string, { field, fields }: IncomingFile): void {
    const possible = this.#possibleSources(fields);
    const refusals = possible.flatMap((source) => {
      try {
        if (this.#isUploadField(field, source)) uploadName(source.settings, filename);
        return [];
      } catch (error) {
        return [error];
      }
    });
    if (refusals.length === possible.length && refusals.length > 0) throw refusals[0];
  }

  /**
   * Rejects all files of a form for `fileUpload` if query or earlier fields name a folder that does not
   * accept them. Checks that depend on later fields are left to the action.
   * @throws AccessDeniedError, NotFoundError, InvalidParametersError
   */
  async #refuseFolder(fields: ParameterDraft): Promise<void> {
    const path = this.#text(fields, 'path');
    const [source, ...others] = this.#possibleSources(fields);
    if (path === undefined) return;
    const { path: folder } = parseParameters(inFolder, { path });
    const key = `${this.#text(fields, 'source') ?? ''}:${folder.toString()}`;
    if (source === undefined || this.#checkedFolders.has(key)) return;
    const view = await this.#view(source);
    if (!mayAllowAction(view, this.#granted.scope.edge.actions, 'fileUpload', folder))
      throw new AccessDeniedError();
    // Otherwise a later field may name another source.
    if (others.length === 0) await view.requireFolder(folder);
    this.#checkedFolders.add(key);
  }

  /** The bytes that still fit. @throws QuotaExceededError when the request is longer */
  async #roomIn(source: Source): Promise<number> {
    const { scope, holdSources } = this.#granted;
    const { headers, signal } = scope.request;
    const target = quotaOf(await this.#view(source), holdSources);
    const bytes = Number(headers['content-length'] ?? Infinity);
    const room = await roomIn(scope.edge.services.quotas, target, source.settings, { bytes, signal });
    if (Number.isFinite(bytes) && bytes > room + FORM_BYTES) throw outOfRoom(source.settings, room);
    return room;
  }
}
