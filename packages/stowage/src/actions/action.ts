import * as z from 'zod';
import type { Slots } from '../basics/concurrency/queues.ts';
import type { YieldToLoop } from '../basics/concurrency/time-slice.ts';
import type { RemoteFetcher } from '../basics/network/remote.ts';
import type { ChangeContext, ChangeServices } from '../changes/change.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { Settings } from '../config/settings.ts';
import type { DocumentMaker } from '../documents/documents.ts';
import type { RawParameters } from '../parameters/raw.ts';
import type { PictureSizes } from '../pictures/kept/sizes.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Links } from '../view/links.ts';
import { type Access, forBoth, type KeysByKind, LISTING_KEY } from '../view/rights.ts';
import type { SourceViews } from '../view/source-views.ts';
import type { EditorResponse, FileResponse, GeneratedFileResponse, BatchResponse } from './responses.ts';
import type { LargeListings, OmittedEntries } from './listing/large-listings.ts';
import type { SearchCursors } from './search/parameters.ts';

/** A file whose uses `findUses` reports. */
export interface UsedFile {
  readonly source: string;
  /** The tenant, where the source comes from `resolveSources`. */
  readonly tenant?: string;
  /** Path inside the source, without a leading slash. */
  readonly path: string;
}

/** Services shared by all requests of one connector. Each is bounded and closed with the connector. */
export interface ActionServices extends ChangeServices {
  readonly links: Links;
  readonly pictureSizes: PictureSizes;
  readonly largeListings: LargeListings;
  /** Limits concurrent searches: each walks whole trees. */
  readonly searches: Slots;
  readonly searchCursors: SearchCursors;
  /** For long computations that many requests may run at the same time. */
  readonly yieldToLoop: YieldToLoop;
  readonly omittedEntries: OmittedEntries;
  /** Fetches all URLs that users supply; no other code may. */
  readonly remote: RemoteFetcher;
  readonly documents: DocumentMaker;
  /** Returns the host's pages that use a file, unvalidated. Undefined without the hook. */
  readonly findUses: ((file: UsedFile) => Promise<unknown>) | undefined;
}

/** Everything that an action knows about its request. */
export interface ActionContext extends ChangeContext {
  /** The sources of the request, as its role sees them: the only way to read from a store. */
  readonly views: SourceViews;
  /** Uploaded files of the form, in the order of arrival, from every field that may hold uploads. */
  readonly uploads: readonly UploadedFile[];
  readonly services: ActionServices;
  /** A form field that held a file although it is not an upload field. */
  readonly otherField?: string | undefined;
  /** True for HEAD: the client wants only the headers. */
  readonly isHead: boolean;
  /** Runs `work`, which must not throw, once the response is sent or dropped, or the action has failed. */
  readonly atEnd: (work: () => void) => void;
}

/** Fields of `data` besides `code`. Iterables are streamed as JSON arrays. */
export type ActionData = Readonly<Record<string, unknown>>;

/** Result of an action: data for the JSON envelope, a file, an editor's format, or results by item. */
export type ActionResult = ActionData | FileResponse | GeneratedFileResponse | EditorResponse | BatchResponse;

export interface FileResult {
  readonly contentType: string;
  /** Shape of `data` without `code`, for requests that contain the parameter `changesWith`. */
  readonly data?: z.ZodType;
}

/** Editors with a response format of their own, by the kind of response. */
export const editors = {
  upload: ['ckeditor', 'tinymce', 'editorjs', 'froala', 'suneditor', 'easymde', 'trumbowyg', 'url'],
  listing: ['froala', 'suneditor'],
} as const;

/** An editor whose upload has its own response format; `url` is for programs that need only the address. */
export type Editor = (typeof editors.upload)[number];

/** An editor whose image browser has its own listing format. */
export type ListingEditor = (typeof editors.listing)[number];

export type EditorKind = keyof typeof editors;

/** The expensive resource that an action uses: `rateLimits` has a limit for each. */
export type Load = keyof NonNullable<Settings['rateLimits']>;

/** One action of the protocol: the origin of its route, validation, access keys and description. */
export interface Action<Parameters extends z.ZodType = z.ZodType> {
  /** As in the path, such as `fileRename`. */
  readonly name: string;
  readonly summary: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** The access keys that the action needs for the items it works on: see `neededKeys`. */
  readonly keys: KeysByKind;
  /** True: the action works only on listed items, so it also needs FILES for a file, FOLDERS for a folder. */
  readonly ofShown?: boolean;
  /** The key whose rules apply to this action where no rule about an item names its own key. */
  readonly follows?: string;
  /** False: `permissions` does not report it. Default: true. */
  readonly isReported?: boolean;
  /** False: the action changes nothing, and HEAD works as GET. */
  readonly changes: boolean;
  /** A parameter that turns a request of a reading action into a change. */
  readonly changesWith?: string;
  /** True: file parts of a form are stored for the action; otherwise they are skipped. */
  readonly takesFiles: boolean;
  readonly filesAreOptional?: boolean;
  /** True: the text fields of a form may be as long as a file. */
  readonly takesLongText?: boolean;
  /** With `responseType`, responses and errors have the format of an editor. */
  readonly editorResponses?: EditorKind;
  /** The limit of `rateLimits` that the action counts for; a function where it depends on the parameters. */
  readonly load?: Load | ((parameters: RawParameters) => Load | undefined);
  readonly parameters: Parameters;
  /** Shape of `data` without `code`, or the kind of file that is returned. */
  readonly result: z.ZodType | FileResult;
  run(context: ActionContext, parameters: z.output<Parameters>): Promise<ActionResult>;
}

/** The key of access rules: `fileRename` -> `FILE_RENAME`. */
export const accessKeyOf = (name: string): string =>
  name.replaceAll(/[A-Z]/gu, (letter) => `_${letter}`).toUpperCase();

/** All keys that an action needs for an item: its own keys, and the listing key where `ofShown` is set. */
export const neededKeys = ({ keys, ofShown = false }: Pick<Action, 'keys' | 'ofShown'>, kind: EntryKind) =>
  ofShown ? [...keys[kind], LISTING_KEY[kind]] : keys[kind];

/**
 * Whether the rules may allow the named action for a folder or something below it: all its keys for files, or
 * all its keys for folders. A name without an action stands for the key of that name.
 */
export const mayAllowAction = (
  access: Pick<Access, 'mayAllow'>,
  actions: ReadonlyMap<string, Action>,
  name: string,
  folder: SourcePath,
): boolean => {
  const { file, folder: ofFolders } = actions.get(name)?.keys ?? forBoth(accessKeyOf(name));
  return [file, ofFolders].some((keys) => keys.every((key) => access.mayAllow(key, folder)));
};

/** Whether a request with these parameters is a change. A blank text counts as absent. */
export const asksForChange = (
  { changes, changesWith }: Pick<Action, 'changes' | 'changesWith'>,
  parameters: RawParameters,
): boolean => {
  const value = changesWith === undefined ? undefined : parameters[changesWith];
  return changes || (typeof value === 'string' ? value.trim() !== '' : value !== undefined);
};

/** The editor that `responseType` names; undefined unless the action supports it. */
export const editorFor = (action: Action | undefined, responseType: unknown): Editor | undefined => {
  const kind = action?.editorResponses;
  return kind && editors[kind].find((editor) => editor === responseType);
};

type Defaulted = 'methods' | 'keys' | 'takesFiles';

/**
 * Types an action's `run` by its own parameter schema. By default an action takes GET and POST, stores no
 * files, and needs the access key of its name. The returned type omits the parameter type: the HTTP layer
 * passes to `run` only what the schema has parsed.
 */
export const defineAction = <Parameters extends z.ZodType>(
  action: Omit<Action<Parameters>, Defaulted> & Partial<Pick<Action, Defaulted>>,
): Action => ({
  methods: ['GET', 'POST'],
  keys: forBoth(accessKeyOf(action.name)),
  takesFiles: false,
  ...action,
});

/** Result of actions that only confirm: nothing besides `code`. */
export const doneSchema = z.object({});
