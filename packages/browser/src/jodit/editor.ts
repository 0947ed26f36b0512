/**
 * The parts of Jodit 4.15 that this module uses. They are declared here, so that neither the code nor its
 * declarations import the package `jodit`.
 */
import type { PickedFile } from '../picker/options.ts';

/** `Jodit.modules.UIMessages`: short messages that disappear after a while. */
export interface MessageBox {
  message(text: string, variant?: string): void;
  info(text: string): void;
  success(text: string): void;
  error(text: string): void;
  destruct(): void;
}

type EditPicture = (
  path: string,
  source: string,
  name: string,
  newName: string | undefined,
  ...rest: readonly unknown[]
) => Promise<boolean | string>;

/** The value for the page, or for a part of Jodit, when files were picked. */
export interface Chosen {
  readonly baseurl: string;
  readonly files: readonly string[];
  readonly isImages?: readonly boolean[] | undefined;
  /** The same files with all their details. */
  readonly picked?: readonly PickedFile[] | undefined;
}

/** The response to an upload in the form that Jodit's uploader reads. */
export interface UploadAnswer {
  readonly success: boolean;
  readonly data: {
    readonly messages?: readonly string[];
    readonly baseurl?: string;
    readonly files?: readonly string[];
    readonly isImages?: readonly boolean[];
  };
}

/** Uploads into the text of an editor. */
export interface Uploader {
  readonly options: {
    readonly url: string | ((form: unknown) => string);
    readonly headers?: HeadersOption | null;
    readonly withCredentials?: boolean;
    readonly data?: Readonly<Record<string, unknown>> | null;
    customUploadFunction?: (form: unknown) => Promise<UploadAnswer>;
  };
}

export type HeadersOption =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Record<string, string>>);

/** `editor.filebrowser`. Its window is not opened; it edits pictures of the text. */
export interface FileBrowser {
  readonly dataProvider: { crop: EditPicture; resize: EditPicture };
  open: (chosen?: (data: Chosen) => void, onlyImages?: boolean) => Promise<void>;
}

/** The part of an editor that is needed to insert something at the cursor. */
export interface InsertingEditor {
  readonly o: { readonly imageDefaultWidth?: number | string | null };
  readonly s: {
    save(): unknown;
    restore(): void;
    insertImage(url: string, styles: null, width: number | string | null): unknown;
    insertNode(node: Node): unknown;
  };
  readonly createInside: { element(tag: 'a' | 'video', attributes: Record<string, string>): HTMLElement };
  readonly filebrowser: { open(chosen: (data: Chosen) => void): Promise<void> };
}

/** An editor that `Jodit.make` has made. */
export interface Editor extends Omit<InsertingEditor, 'filebrowser'> {
  readonly o: InsertingEditor['o'] & {
    readonly theme?: string;
    readonly shadowRoot?: ShadowRoot | null;
    readonly popupRoot?: HTMLElement | null;
  };
  readonly e: { on(events: string, handler: (...values: never[]) => unknown): unknown };
  readonly container: HTMLElement;
  readonly filebrowser: FileBrowser;
  readonly uploader: Uploader;
  /** Without a value: writes the displayed content into that of the editor, and fires `change` immediately. */
  setEditorValue(): void;
}

/** The class `Jodit` with its factory method. */
export interface JoditClass<Made, Options> {
  make(element: HTMLElement | string, options?: Options): Made;
}
