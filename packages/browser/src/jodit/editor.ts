/**
 * The parts of Jodit that this room uses, as Jodit 4.15 has them. They are written down here, so that neither
 * the code nor its declarations import the package `jodit`.
 */

/** What Jodit's own event emitters offer. */
interface Emitter {
  on(subject: object, events: string, handler: () => unknown): Emitter;
  on(events: string, handler: (...values: never[]) => unknown): Emitter;
  off(events: string): Emitter;
  fire(event: string, ...values: readonly unknown[]): unknown;
  fire(subject: object, event: string): unknown;
}

/** One `Jodit.modules.UIMessages`: short texts that go away by themselves. */
export interface MessageBox {
  message(text: string, variant?: string, timeout?: number): void;
  info(text: string, timeout?: number): void;
  success(text: string, timeout?: number): void;
  error(text: string, timeout?: number): void;
  destruct(): void;
}

/** A source in an answer to `files` or `folders`. */
export interface ListedSource {
  readonly name: string;
  readonly title?: string;
  readonly baseurl: string;
  readonly path: string;
}

/** A listed file: the members of the connector's answer, and what Jodit computes of them. */
export interface Item {
  readonly source: ListedSource;
  readonly sourceName: string;
  readonly path: string;
  readonly fileURL: string;
  readonly imageURL: string;
  readonly time: string;
  readonly uniqueHashKey: string;
  readonly file?: string;
  readonly fileIsAbsolute?: boolean;
  readonly thumbIsAbsolute?: boolean;
  readonly name?: string;
  readonly thumb?: string;
  readonly size?: string;
  readonly changed?: string;
  readonly isImage?: boolean;
  /** With `mods[details]`. */
  readonly modified?: string;
  readonly etag?: string;
  readonly width?: number;
  readonly height?: number;
  /** Of what a search has found: its source and folder, for people. */
  readonly where?: string;
}

type Mods = Readonly<Record<string, unknown>>;

type EditPicture = (
  path: string,
  source: string,
  name: string,
  newName: string | undefined,
  ...rest: readonly unknown[]
) => Promise<boolean | string>;

/** Asks the connector; every method may be replaced. */
export interface DataProvider {
  items: (path: string, source: string, mods?: Mods) => Promise<readonly Item[]>;
  tree: (path: string, source: string) => Promise<readonly ListedSource[]>;
  move: (from: string, path: string, source: string, isFile: boolean) => Promise<boolean>;
  fileRemove: (path: string, name: string, source: string) => Promise<string>;
  folderRemove: (path: string, name: string, source: string) => Promise<string>;
  fileRename: (path: string, name: string, newName: string, source: string) => Promise<string>;
  folderRename: (path: string, name: string, newName: string, source: string) => Promise<string>;
  crop: EditPicture;
  resize: EditPicture;
  permissions: (path: string, source: string) => Promise<Readonly<Record<string, boolean>> | null>;
  canI: (action: string) => boolean;
  readonly options: Readonly<Record<'fileMove' | 'folderMove', { data: Record<string, unknown> }>> & {
    readonly sort?: (one: Item, other: Item, sortBy: string) => number;
  };
}

/** A stored file in the answer to an upload. */
export interface UploadedItem {
  readonly source?: string;
  readonly path?: string;
  readonly name?: string;
  readonly url?: string;
  readonly width?: number;
  readonly height?: number;
}

/** What an uploader of Jodit reads from the answer to an upload. */
export interface UploadAnswer {
  readonly success: boolean;
  readonly data: {
    readonly messages?: readonly string[];
    readonly baseurl?: string;
    readonly files?: readonly string[];
    readonly isImages?: readonly boolean[];
    readonly items?: readonly UploadedItem[];
  };
}

/** One for the text of the editor, another for the file browser. */
export interface Uploader {
  readonly options: {
    readonly url: string | ((form: unknown) => string);
    readonly headers?: HeadersOption | null;
    readonly withCredentials?: boolean;
    customUploadFunction?: (form: unknown, showProgress: unknown) => Promise<UploadAnswer>;
  };
}

export type HeadersOption =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Record<string, string>>);

/** Where the file browser is, and what it shows; a change of a member is followed by the screen. */
export interface BrowserState {
  currentPath: string;
  currentSource: string;
  filterWord: string;
  readonly sortBy: string;
  activeElements: readonly Item[];
  elements: readonly Item[];
  readonly sources: readonly ListedSource[];
  on(events: string | readonly string[], handler: () => void): unknown;
}

/** What Jodit tells when something is to be done to a folder of the tree. */
export interface FolderEvent {
  readonly name: string;
  readonly path: string;
  readonly source: string;
}

interface View {
  readonly e: Emitter;
  readonly container: HTMLElement;
  readonly message: MessageBox;
}

/** A window of Jodit above the page. */
export interface Dialog {
  readonly e: Emitter;
  readonly container: HTMLElement;
  close(): unknown;
}

/** `editor.filebrowser`. */
/** Makes an element; Jodit reads a child that is a string as HTML. */
export type MakeElement = (
  className?: string,
  children?: unknown,
  ...rest: readonly unknown[]
) => HTMLElement;

export interface FileBrowser extends View {
  readonly o: { buttons: readonly unknown[] | string };
  readonly dataProvider: DataProvider;
  readonly state: BrowserState;
  readonly files: { readonly container: HTMLElement; getFullElName(name: string): string };
  readonly tree: { readonly container: HTMLElement; getFullElName(name: string): string };
  readonly create: Record<'span' | 'div', MakeElement>;
  readonly uploader: Uploader;
  readonly isOpened: boolean;
  status(message: unknown, success?: boolean): void;
  confirm(message: string, title: string, answer: (yes: boolean) => void): Dialog;
  prompt(
    message: string,
    title: string,
    answer: (text: string) => unknown,
    placeholder: string,
    value: string,
  ): Dialog;
  i18n(key: string, ...values: readonly string[]): string;
  close(): void;
}

/** An editor that `Jodit.make` has made. */
export interface Editor extends View {
  readonly o: {
    readonly language?: string;
    readonly direction?: string;
    readonly shadowRoot?: ShadowRoot | null;
    readonly popupRoot?: HTMLElement | null;
  };
  readonly filebrowser: FileBrowser;
  readonly uploader: Uploader;
  /** Writes what the person sees into the value of the editor. */
  synchronizeValues(): void;
}

/** The class `Jodit`, as far as its makers of editors are concerned. */
export interface JoditClass<Made, Options> {
  make(element: HTMLElement | string, options?: Options): Made;
}
