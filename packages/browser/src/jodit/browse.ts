/** What of an editor is needed to insert something where the cursor was. */
export interface InsertingEditor {
  readonly o: { readonly imageDefaultWidth?: number | string | null };
  readonly s: {
    save(): unknown;
    restore(): void;
    insertImage(url: string, styles: null, width: number | string | null): unknown;
    insertNode(node: Node): unknown;
  };
  readonly createInside: { element(tag: 'a', attributes: Record<string, string>): HTMLElement };
  readonly filebrowser: {
    open(
      chosen: (data: { readonly files: readonly string[]; readonly isImages?: readonly boolean[] }) => void,
    ): Promise<void>;
  };
}

const nameIn = (url: string): string => {
  const part = url.split(/[?#]/u, 1)[0]?.split('/').at(-1) ?? url;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/**
 * Opens the file browser for a button of your own, and puts what is chosen where the cursor was: pictures as
 * pictures, other files as links with their names. Resolves when the first folder is shown.
 */
export const browseFiles = (editor: InsertingEditor): Promise<void> => {
  editor.s.save();
  return editor.filebrowser.open(({ files, isImages = [] }) => {
    editor.s.restore();
    files.forEach((url, index) => {
      if (isImages[index] === true) {
        editor.s.insertImage(url, null, editor.o.imageDefaultWidth ?? null);
        return;
      }
      const link = editor.createInside.element('a', { href: url });
      link.textContent = nameIn(url);
      editor.s.insertNode(link);
    });
  });
};
