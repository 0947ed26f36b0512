import type { Logger } from '../basics/log/logger.ts';
import type { InspectionVerdict } from '../config/event.ts';
import type { Describer } from '../operations/describing/describer.ts';
import type { Events } from '../operations/events/events.ts';
import type { Inspector } from '../operations/inspection/inspector.ts';
import type { Quotas } from '../operations/quotas/quotas.ts';
import type { PicturePoint, PictureSize } from '../pictures/engine.ts';
import type { ImageEditor } from '../pictures/image-editor.ts';
import type { DrawnThumbnail, Thumbnails } from '../pictures/kept/thumbnails.ts';
import type { About, AboutPatch } from '../storage/about/about.ts';
import type { AboutKeeper } from '../storage/about/keeper.ts';
import type { EntryKind, Stat } from '../storage/adapter.ts';
import type { Located, LocationLocks } from '../storage/location.ts';
import type { Measure } from '../storage/measure.ts';
import type { NameMemory } from '../storage/moved/memory.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { TrashKeeper } from '../storage/trash/keeper.ts';
import type { TrashRecord } from '../storage/trash/trashed.ts';
import type { Item } from '../view/folder-view.ts';
import type { SourceView } from '../view/source-view.ts';
import type { ShareNumbers } from './names.ts';
import type { UploadedFile } from './uploaded-file.ts';

interface At {
  /** The source that changes; of a move or copy the target source. */
  readonly open: SourceView;
  /** The path that changes, or the wanted path; of uploads their folder. */
  readonly path: SourcePath;
}

/** A change whose name the host may replace. */
interface Named extends At {
  /** The host has already been asked and has chosen this path. */
  readonly isAsked?: boolean;
}

export interface MakeFolder extends Named {
  readonly type: 'makeFolder';
}

/** Removes an item: into the trash where the source has one, else permanently. */
export interface Remove extends At {
  readonly type: 'remove';
  readonly kind: EntryKind;
  /** The item as the request found it. */
  readonly seen: Stat;
}

/** Moves, renames or copies an item. Replaces nothing; a copy may get a number. */
export interface Transfer extends Named {
  readonly type: 'move' | 'rename' | 'copy';
  /** The source of the item: `open`, or another one. From another one it enters with a name allowed here. */
  readonly from: SourceView;
  readonly item: Item;
}

/** Restores an item from the trash, under its name or a numbered one. */
export interface Restore extends At {
  readonly type: 'restore';
  readonly record: TrashRecord;
}

/** Erases an item of the trash permanently. `path` is the path that it was removed from. */
interface Erase extends At {
  readonly type: 'erase';
  readonly record: TrashRecord;
}

/** Erases one item of a change that is reported as a whole. */
export interface ErasePart extends Erase {
  readonly isPart: true;
}

/** Permanently erases all given items of the trash. */
export interface EmptyTrash extends At {
  readonly type: 'emptyTrash';
  readonly records: AsyncIterable<TrashRecord>;
}

/** Access keys that new content needs under its final name: those of the action, and the one for uploads. */
export type UploadKeys = readonly [...string[], 'FILE_UPLOAD'];

/** The files of one form. When one fails, the others are withdrawn, except those that replaced a file. */
export interface Create extends At {
  readonly type: 'create';
  readonly files: readonly UploadedFile[];
  readonly keys: UploadKeys;
  /** Errors name the file that they concern. */
  readonly isForm: boolean;
}

/** New content for a file, which keeps its name. */
export interface Replace extends At {
  readonly type: 'replace';
  readonly file: UploadedFile;
  readonly keys: UploadKeys;
}

/** New content for a picture, or a new picture made from it: reported as `image.edited`, under any name. */
export interface Edit extends At {
  readonly type: 'edit';
  /** The access key that the result needs under its name. */
  readonly key: string;
  /** The file that it was made from. */
  readonly from: SourcePath | undefined;
  /** The uploaded file, where the content does not come from the source itself. */
  readonly sent: UploadedFile | undefined;
  /** Size of the new content in bytes, where it is known in advance. */
  readonly bytes?: number;
  /** Overwrites the file at the path, whatever the conflict strategy of the source. */
  readonly isOver: boolean;
  /** Maps a point to its position after the edit; undefined when it was cut away. Default: unchanged. */
  readonly pointAfter?: (point: PicturePoint) => PicturePoint | undefined;
  /** Makes the content and passes it to `store`; does not call `store` when there is nothing to store. */
  readonly make: (store: (content: NewContent) => Promise<void>) => Promise<void>;
}

/** Stores content under one name: only a part of `create`, `replace` or `edit`, without hooks and events. */
export interface Put extends At {
  readonly type: 'put';
  readonly keys: readonly string[];
  readonly content: Content;
  readonly createOnly?: boolean | undefined;
  /** Its name is locked by the search for it. */
  readonly isLocked?: boolean;
  /** A recent lookup found no folder of this name. */
  readonly isNoFolder?: boolean | undefined;
  /** Does not create the file again when it was removed in the meantime. */
  readonly mustExist?: boolean;
  /** The stat of the file that is replaced, if it is known without another request. */
  readonly replaces?: Stat | undefined;
  /** Called when the file is stored, while its name is still locked. */
  readonly onStored?: ((stored: Stored) => unknown) | undefined;
}

export interface Describe extends At {
  readonly type: 'describe';
  readonly patch: AboutPatch | ((about: About) => AboutPatch);
}

/** A document that is made but stored in no source. `make` returns its length in bytes. */
interface MakeDocument {
  readonly type: 'document';
  readonly path: SourcePath;
  readonly make: () => Promise<number>;
}

/** A change as data, for the stages. */
export type Change = WholeChange | Put | ErasePart;

/** A change that an action may describe: one that the host is asked about, and that is reported. */
export type WholeChange =
  | MakeFolder
  | Remove
  | Transfer
  | Restore
  | Erase
  | EmptyTrash
  | Create
  | Replace
  | Edit
  | Describe
  | MakeDocument;

/** Content without a name: staged, or in memory. With `version` it may only replace that version. */
export type Content =
  | Pick<UploadedFile, 'staged' | 'stagedIn' | 'inspection'>
  | { readonly bytes: Buffer; readonly version?: Stat | undefined };

/** Content with what is known about it, and files to be stored beside it. */
export interface NewContent {
  readonly content: Content;
  /** Displayed size of a picture, where its header is readable. */
  readonly seen?: PictureSize | undefined;
  /** Processing has removed visible or active content. */
  readonly isReduced?: boolean | undefined;
  /** The picture as uploaded, stored beside the processed one. */
  readonly original?: UploadedFile | undefined;
  readonly thumbnail?: DrawnThumbnail | undefined;
  /** Texts from the metadata of the uploaded picture. */
  readonly texts?: About | undefined;
}

/** An item inside a folder that was given another name in another source. */
export interface Renamed {
  readonly kind: EntryKind;
  readonly from: SourcePath;
  readonly to: SourcePath;
}

export interface Done {
  readonly path: SourcePath;
  readonly bytes?: number | undefined;
  /** Size of an item of another source in the target: it differs where pictures were changed. */
  readonly stored?: Measure | undefined;
  /** Of a folder that was moved or copied to another source. */
  readonly renamed?: readonly Renamed[] | undefined;
  /** Verdict of the inspection, where the content was inspected. */
  readonly inspection?: InspectionVerdict | undefined;
  /** The description of a file, where the change concerns it. */
  readonly about?: About | undefined;
  /** The focal point of a picture was changed. */
  readonly isFocusMoved?: boolean | undefined;
}

/** A file that was stored under its name. */
export interface Stored extends Done, Pick<NewContent, 'seen' | 'isReduced' | 'thumbnail' | 'texts'> {
  readonly bytes: number;
  readonly stat: Stat;
  /** It replaced an older file. */
  readonly replaced: boolean;
  /** It existed before: apparently stored by an earlier attempt. */
  readonly isFound?: boolean;
  /** The stored original picture, where originals are kept. */
  readonly original?: Stored | undefined;
}

/** State of one change while it passes the stages. */
export interface StageContext extends ChangeContext {
  /** Results so far that will remain. They are reported even when the rest fails. */
  readonly done: Done[];
  /** Carries out a part or a consequence of the change through all stages; `as` for another requester. */
  readonly carry: (part: Put | ErasePart | Describe, as?: ChangeContext) => Promise<readonly Done[]>;
}

/** Runs the remaining stages. Returns the change to start anew with, if the host renames; else undefined. */
export type Next = (change: Change) => Promise<Change | undefined>;

/** One step that every change passes. A stage passes changes that do not concern it to `next`. */
export type Stage = (context: StageContext, change: Change, next: Next) => Promise<Change | undefined>;

/** Services that the stages use. All requests of one connector share them. */
export interface ChangeServices {
  readonly thumbnails: Thumbnails;
  readonly images: ImageEditor;
  readonly shareNumbers: ShareNumbers;
  /** Locked by every change that stores, moves or removes entries. */
  readonly locations: LocationLocks;
  readonly trash: TrashKeeper;
  readonly about: AboutKeeper;
  /** History of names, in sources that record it. */
  readonly names: NameMemory;
  readonly events: Events;
  /** Each reports what a running change of another request has done at these locations, unless it has. */
  readonly unreported: Set<(locations: readonly Located[], by: Requester) => Promise<void>>;
  readonly quotas: Quotas;
  readonly inspector: Inspector;
  /** Undefined when the host has no hook for it. */
  readonly describer: Describer | undefined;
}

/** The author of a change. */
export interface Requester {
  /** Value of `X-Request-Id`. */
  readonly requestId: string;
  readonly role: string;
  /** The user, where the host names one. */
  readonly subject: string | undefined;
}

/** Properties of the request that a change needs. */
export interface ChangeContext {
  readonly requester: Requester;
  readonly services: ChangeServices;
  /** Id of the quota space that is reserved for the content of the request. */
  readonly keptRoom?: string | undefined;
  /** Aborted when the client disconnects or the service stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Keeps the sources open beyond the request. Returns the function that releases them; call it once. */
  readonly holdSources: () => () => void;
}
