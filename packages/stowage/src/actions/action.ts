import * as z from 'zod';
import type { Slots } from '../basics/concurrency/queues.ts';
import type { YieldToLoop } from '../basics/concurrency/time-slice.ts';
import type { RemoteFetcher } from '../basics/network/remote.ts';
import type { ChangeContext, ChangeServices } from '../changes/change.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { DocumentMaker } from '../documents/documents.ts';
import type { RawParameters } from '../parameters/raw.ts';
import type { PictureSizes } from '../pictures/kept/sizes.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Links } from '../view/links.ts';
import { type Access, forBoth, type KeysByKind, LISTING_KEY } from '../view/rights.ts';
import type { SourceViews } from '../view/source-views.ts';
import type { EditorAnswer, FileAnswer, MadeFileAnswer, ManyAnswer } from './file-answer.ts';
import type { LargeListings, OmittedEntries } from './listing/large-listings.ts';
import type { SearchCursors } from './search/parameters.ts';

/** A file whose uses are asked for. */
export interface UsedFile {
  /** Name of its source. */
  readonly source: string;
  /** Of the tenant, where `resolveSources` has given the source. */
  readonly tenant?: string;
  /** Inside the source, without a leading slash. */
  readonly path: string;
}

/** Services shared by all requests of one connector. Each is bounded and closed with the connector. */
export interface ActionServices extends ChangeServices {
  readonly links: Links;
  readonly pictureSizes: PictureSizes;
  readonly largeListings: LargeListings;
  /** Searches take turns: each walks through whole trees. */
  readonly searches: Slots;
  readonly searchCursors: SearchCursors;
  /** For long work that many requests may do at the same time. */
  readonly yieldToLoop: YieldToLoop;
  readonly omittedEntries: OmittedEntries;
  /** The only way to fetch what users name. */
  readonly remote: RemoteFetcher;
  readonly documents: DocumentMaker;
  /** Asks the host which of its pages show a file; undefined: it does not know. What it returns is not checked. */
  readonly findUses: ((file: UsedFile) => Promise<unknown>) | undefined;
}

/** All that an action knows of its request. */
export interface ActionContext extends ChangeContext {
  /** The sources of the request, as its role may see them: the only way to read something. */
  readonly views: SourceViews;
  /** Files of the form, in the order of arrival, of every field that may hold uploads. */
  readonly uploads: readonly UploadedFile[];
  readonly services: ActionServices;
  /** A field of the form that held a file, and is none for uploads. */
  readonly otherField?: string | undefined;
  /** The client asks for the headers of the answer alone. */
  readonly isHead: boolean;
  /**
   * Has something done when the answer has been sent or dropped, or the action has failed. It must not throw.
   */
  readonly atEnd: (work: () => void) => void;
}

/** Fields of `data` besides `code`. Iterables are written out as JSON arrays, bit by bit. */
export type ActionData = Readonly<Record<string, unknown>>;

/** What an action answers: data for the JSON envelope, a file, what an editor reads, or results by item. */
export type ActionResult = ActionData | FileAnswer | MadeFileAnswer | EditorAnswer | ManyAnswer;

export interface FileResult {
  readonly contentType: string;
  /** Shape of the answer's `data` without `code`, for requests that give the parameter `changesWith`. */
  readonly data?: z.ZodType;
}

/** The editors that read answers in a form of their own, by the kind of answer. */
export const editors = {
  upload: ['ckeditor', 'tinymce', 'editorjs', 'froala', 'suneditor', 'easymde', 'trumbowyg', 'url'],
  listing: ['froala', 'suneditor'],
} as const;

/** An editor whose simple upload reads answers of its own form; `url` for programs that want the address. */
export type Editor = (typeof editors.upload)[number];

/** An editor whose own browser of pictures reads a listing of its own form. */
export type ListingEditor = (typeof editors.listing)[number];

/** What of an action's answers editors read in a form of their own. */
export type EditorKind = keyof typeof editors;

/** What an action costs most of, where that is much: `rateLimits` has a limit for each. */
export type Load = 'uploads' | 'pictures' | 'documents' | 'listings';

/**
 * One action of the protocol. Routes, parameter checks, access keys, permissions and the interface
 * description come from these.
 */
export interface Action<Parameters extends z.ZodType = z.ZodType> {
  /** As in the path: `fileRename`. */
  readonly name: string;
  readonly summary: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** The access keys that the action needs where it acts: see `neededKeys`. */
  readonly keys: KeysByKind;
  /** True: it acts only on what listings show: FILES is needed for a file, FOLDERS for a folder. */
  readonly ofShown?: boolean;
  /** The key that decides for this action where no rule about an item names its own. */
  readonly follows?: string;
  /** False: `permissions` does not report it. Default: true. */
  readonly isReported?: boolean;
  /** False: nothing changes, HEAD works as GET. */
  readonly changes: boolean;
  /** A parameter with which an action that changes nothing does: a request that gives it asks for a change. */
  readonly changesWith?: string;
  /** True: file parts of a form are kept for the action; otherwise they are skipped. */
  readonly takesFiles: boolean;
  /** True: it need not be given files. */
  readonly filesAreOptional?: boolean;
  /** True: the text fields of a form may hold as much as a file. */
  readonly takesLongText?: boolean;
  /** With `responseType`, answers and errors have the form of an editor. */
  readonly answersEditors?: EditorKind;
  /** What the action counts for in `rateLimits`; a function where that depends on its parameters. */
  readonly load?: Load | ((parameters: RawParameters) => Load | undefined);
  readonly parameters: Parameters;
  /** Shape of the answer's `data` without `code`, or what kind of file is answered. */
  readonly result: z.ZodType | FileResult;
  run(context: ActionContext, parameters: z.output<Parameters>): Promise<ActionResult>;
}

/** `fileRename` -> `FILE_RENAME`: the key of access rules. */
export const accessKeyOf = (name: string): string =>
  name.replaceAll(/[A-Z]/gu, (letter) => `_${letter}`).toUpperCase();

/** All keys that an action needs for an item: those of what it does, and that of seeing it where it must. */
export const neededKeys = ({ keys, ofShown = false }: Pick<Action, 'keys' | 'ofShown'>, kind: EntryKind) =>
  ofShown ? [...keys[kind], LISTING_KEY[kind]] : keys[kind];

/**
 * Whether the rules may allow the named action for a folder or for something below it: by all its keys for
 * files or all for folders, or by the key of its name where no action has it.
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

/** Whether a request with these parameters asks for a change. A blank text counts as absent. */
export const asksForChange = (
  { changes, changesWith }: Pick<Action, 'changes' | 'changesWith'>,
  parameters: RawParameters,
): boolean => {
  const value = changesWith === undefined ? undefined : parameters[changesWith];
  return changes || (typeof value === 'string' ? value.trim() !== '' : value !== undefined);
};

/** The editor that `responseType` names, as far as the action knows it. */
export const editorFor = (action: Action | undefined, responseType: unknown): Editor | undefined => {
  const kind = action?.answersEditors;
  return kind && editors[kind].find((editor) => editor === responseType);
};

type Defaulted = 'methods' | 'keys' | 'takesFiles';

/**
 * Types an action's `run` by its own parameter schema. By default an action takes GET and POST, keeps no
 * files, and needs the access key of its name. The result says no more than that `run` takes what the schema
 * returns; the edge passes nothing else to it.
 */
export const defineAction = <Parameters extends z.ZodType>(
  action: Omit<Action<Parameters>, Defaulted> & Partial<Pick<Action, Defaulted>>,
): Action => ({
  methods: ['GET', 'POST'],
  keys: forBoth(accessKeyOf(action.name)),
  takesFiles: false,
  ...action,
});

/** The answer of actions that only confirm: nothing besides `code`. */
export const doneSchema = z.object({});

/** The answer of actions that confirm in words. */
export const messagesSchema = z.object({ messages: z.array(z.string()) });
