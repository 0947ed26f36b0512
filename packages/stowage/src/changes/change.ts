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
import type { LocationLocks } from '../storage/location.ts';
import type { NameMemory } from '../storage/moved/memory.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { TrashKeeper } from '../storage/trash/keeper.ts';
import type { TrashRecord } from '../storage/trash/trashed.ts';
import type { Item } from '../view/folder-view.ts';
import type { SourceView } from '../view/source-view.ts';
import type { NameReservations } from './names.ts';
import type { UploadedFile } from './uploaded-file.ts';

interface At {
  /** The source that changes; of a move or copy the one that something goes into. */
  readonly open: SourceView;
  /** The path that changes or is wanted: of uploads their folder. */
  readonly path: SourcePath;
}

/** What the host may give another name. */
interface Named extends At {
  /** The host has been asked, and wants this path. */
  readonly isAsked?: boolean;
}

/** A new folder. */
export interface MakeFolder extends Named {
  readonly type: 'makeFolder';
}

/** Something leaves its path: into the trash where the source has one, else for good. */
export interface Remove extends At {
  readonly type: 'remove';
  readonly kind: EntryKind;
  /** As it was found. */
  readonly seen: Stat;
}

/** Something gets another path, or a copy there. Nothing is replaced; the copy may get a number. */
export interface Transfer extends Named {
  readonly type: 'move' | 'rename' | 'copy';
  /** Where the item lies: `open`, or another source, from which it comes with the name that it may have. */
  readonly from: SourceView;
  readonly item: Item;
}

/** Something comes back from the trash, under its name or a numbered one. */
export interface Restore extends At {
  readonly type: 'restore';
  readonly record: TrashRecord;
}

/** Something leaves the trash for good. `path` is where it was. */
export interface Erase extends At {
  readonly type: 'erase';
  readonly record: TrashRecord;
  /** It belongs to a change that has been asked for and will be told as a whole. */
  readonly isPart?: boolean;
}

/** All that the trash gives leaves it for good. */
export interface EmptyTrash extends At {
  readonly type: 'emptyTrash';
  readonly records: AsyncIterable<TrashRecord>;
}

/** The files of one form: when one fails, none of them stays, except where it has replaced another. */
export interface Create extends At {
  readonly type: 'create';
  readonly files: readonly UploadedFile[];
  /** The access keys that each needs under its name. */
  readonly keys: readonly string[];
  /** Failures name the file that they are about. */
  readonly isForm: boolean;
}

/** New content of a file, which keeps its name. */
export interface Replace extends At {
  readonly type: 'replace';
  readonly file: UploadedFile;
  readonly keys: readonly string[];
}

/** New content of a picture, or a new picture made of it. */
export interface Edit extends At {
  readonly type: 'edit';
  /** The access key that it needs under its name. */
  readonly key: string;
  /** What it was made of. */
  readonly from: SourcePath | undefined;
  /** What was sent, where the content does not come from the source itself. */
  readonly sent: UploadedFile | undefined;
  /** As far as it is known before. */
  readonly bytes?: number;
  /** It goes over the file that has the path, whatever the strategy of the source. */
  readonly isOver: boolean;
  /** Where a point of the picture lies once that has been edited; undefined: it was cut away. Default: where it was. */
  readonly pointAfter?: (point: PicturePoint) => PicturePoint | undefined;
  /** Makes the content and has it stored; not where there is nothing to be stored. */
  readonly make: (store: (content: NewContent) => Promise<void>) => Promise<void>;
}

/** Content gets one name: a part of `create`, `replace` or `edit`. */
export interface Put extends At {
  readonly type: 'put';
  readonly keys: readonly string[];
  readonly content: Content;
  readonly createOnly?: boolean | undefined;
  /** No folder had the name a moment ago. */
  readonly isNoFolder?: boolean | undefined;
  /** A file that was removed meanwhile is not made again. */
  readonly mustExist?: boolean;
}

/** New words about a file. */
export interface Describe extends At {
  readonly type: 'describe';
  readonly patch: AboutPatch | ((about: About) => AboutPatch);
}

/** A document that is made and stored in no source. `make` returns its length in bytes. */
export interface MakeDocument {
  readonly type: 'document';
  readonly path: SourcePath;
  readonly make: () => Promise<number>;
}

/** Whatever changes, as data for `carryOut`. */
export type Change =
  | MakeFolder
  | Remove
  | Transfer
  | Restore
  | Erase
  | EmptyTrash
  | Create
  | Replace
  | Edit
  | Put
  | Describe
  | MakeDocument;

/** Content without a name: staged, or in memory, perhaps for nothing but one version of a file. */
export type Content =
  | Pick<UploadedFile, 'staged' | 'stagedIn' | 'inspection'>
  | { readonly bytes: Buffer; readonly version?: Stat | undefined };

/** Content with what is known of it, and what is kept beside it. */
export interface NewContent {
  readonly content: Content;
  /** Of a picture as it is seen, as far as its header is readable. */
  readonly seen?: PictureSize | undefined;
  /** Less is stored than came. */
  readonly isReduced?: boolean | undefined;
  /** A picture as it came, that is kept beside the one that is stored. */
  readonly original?: UploadedFile | undefined;
  /** Of a picture that was decoded. */
  readonly thumbnail?: DrawnThumbnail | undefined;
  /** What a picture says about itself, as it was sent. */
  readonly texts?: About | undefined;
}

/** What has come of a change. */
export interface Done {
  readonly path: SourcePath;
  readonly bytes?: number | undefined;
  /** Of content that was looked at. */
  readonly inspection?: InspectionVerdict | undefined;
  /** The words about a file, where the change has to do with them. */
  readonly about?: About | undefined;
  /** What matters in a picture has been said to be elsewhere. */
  readonly isFocusMoved?: boolean | undefined;
}

/** A file that has got its name. */
export interface Stored extends Done, Pick<NewContent, 'seen' | 'isReduced' | 'thumbnail' | 'texts'> {
  readonly bytes: number;
  readonly stat: Stat;
  /** An older file gave way to it. */
  readonly replaced: boolean;
  /** It was there before: stored by an earlier try, as it seems. */
  readonly isFound?: boolean;
  /** The picture as it came, where it is kept. */
  readonly original?: Stored | undefined;
}

/** One change on its way through the stages. */
export interface Passage extends ChangeContext {
  /** What has happened so far, and stays: it is told, also when the rest has failed. */
  readonly done: Done[];
  /** Carries out a part of the change, or what follows from it, by all stages; `as` another requester. */
  readonly carry: (part: Put | Erase | Describe, as?: ChangeContext) => Promise<readonly Done[]>;
}

/** Goes on with a change. The change with which it begins anew, where the host wants that; else undefined. */
export type Next = (change: Change) => Promise<Change | undefined>;

/** One thing that must happen with every change. What it does not care for it hands on. */
export type Stage = (passage: Passage, change: Change, next: Next) => Promise<Change | undefined>;

/** What the stages of a change work with: services shared by all requests of one connector. */
export interface ChangeServices {
  readonly thumbnails: Thumbnails;
  readonly images: ImageEditor;
  readonly reservations: NameReservations;
  /** Held by whatever takes entries away from their locations: moves and removals. */
  readonly locations: LocationLocks;
  readonly trash: TrashKeeper;
  /** The words about files. */
  readonly about: AboutKeeper;
  /** What has left which name, in sources that remember it. */
  readonly names: NameMemory;
  readonly events: Events;
  readonly quotas: Quotas;
  readonly inspector: Inspector;
  /** Undefined: the host has no hook for it. */
  readonly describer: Describer | undefined;
}

/** Who asks. */
export interface Requester {
  /** As in `X-Request-Id`. */
  readonly requestId: string;
  readonly role: string;
  /** The user, as far as the host says. */
  readonly subject: string | undefined;
}

/** What a change knows of its request. */
export interface ChangeContext {
  readonly requester: Requester;
  readonly services: ChangeServices;
  /** The id of the room that is kept for what the request stores. */
  readonly keptRoom?: string | undefined;
  /** Aborted when the client goes away or the service stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * Keeps the sources open beyond the request; returns the way to give them back, to be called exactly once.
   */
  readonly holdSources: () => () => void;
}
