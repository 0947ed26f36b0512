import { type Entry, type Folder, joined } from './service.ts';
import type { Dropped } from './upload-folders.ts';

/** Data type of entries that are dragged from a list of this page. */
const OWN = 'application/x-stowage-entries';

/** Files that systems put into folders to show them. */
const OF_SYSTEM = /^(?:\.DS_Store|\._.*|Thumbs\.db|desktop\.ini)$/iu;

export interface DropEvents {
  /** The folder for a drop at this position; undefined where dropping is not possible. */
  readonly targetOf: (event: DragEvent) => Folder | undefined;
  /** Called with the target while something is dragged over it; undefined when it leaves. */
  readonly held: (
    target: { readonly folder: Folder; readonly isMove: boolean } | undefined,
    at: EventTarget | undefined,
  ) => void;
  readonly dropped: (wanted: readonly Dropped[], folder: Folder) => void;
  /** Called with the name of a dropped file or folder that the browser could not read. */
  readonly unreadable: (name: string) => void;
  readonly moved: (entries: readonly Entry[], folder: Folder, isCopy: boolean) => void;
}

const entriesOf = async (reader: FileSystemDirectoryReader): Promise<readonly FileSystemEntry[]> => {
  const all: FileSystemEntry[] = [];
  // A reader returns at most a hundred entries per call.
  for (;;) {
    const some = await new Promise<readonly FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
};

/**
 * The dropped files and empty folders, including those in folders, each with its destination folder.
 * `unreadable` is called with the name of each file or folder that the browser cannot read; the others are
 * still returned.
 */
const filesDropped = async (
  transfer: DataTransfer,
  { source, path }: Folder,
  unreadable: (name: string) => void,
): Promise<readonly Dropped[]> => {
  const read = async (entry: FileSystemEntry, way: string): Promise<readonly Dropped[]> => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      );
      return [{ file, source, path: way }];
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const inside = (await entriesOf(reader)).filter(({ name }) => !OF_SYSTEM.test(name));
    const own = joined(way, entry.name);
    if (inside.length === 0) return [{ source, path: own }];
    return (await Promise.all(inside.map((one) => walk(one, own)))).flat();
  };
  const walk = (entry: FileSystemEntry, way: string): Promise<readonly Dropped[]> =>
    read(entry, way).catch(() => {
      unreadable(entry.name);
      return [];
    });
  // The list is empty after the first await.
  const dropped = [...transfer.items].map(async (item) => {
    const entry = item.webkitGetAsEntry();
    if (entry?.isDirectory) return walk(entry, path);
    // Safari has entries also of files that a script made, and cannot read those.
    const file = item.getAsFile();
    return file === null ? [] : [{ file, source, path }];
  });
  return (await Promise.all(dropped)).flat();
};

/** Prevents a browser from opening dropped files instead of the page where nothing accepts them. */
export const refuseFiles = (event: DragEvent): void => {
  if (event.defaultPrevented || event.dataTransfer?.types.includes('Files') !== true) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
};

/** Drag and drop in a picker: of its own entries, and of files from the desktop. */
export class Drops {
  readonly #events: DropEvents;
  #dragged: readonly Entry[] = [];

  constructor(element: HTMLElement, events: DropEvents) {
    this.#events = events;
    element.addEventListener('dragover', (event) => this.#over(event));
    element.addEventListener('dragleave', (event) => {
      if (!(event.relatedTarget instanceof Node && element.contains(event.relatedTarget))) this.#leave();
    });
    element.addEventListener('drop', (event) => this.#drop(event));
  }

  start(entries: readonly Entry[], { dataTransfer }: DragEvent): void {
    this.#dragged = entries;
    // Browsers add a dragged picture as a file, which would look like one from the desktop.
    dataTransfer?.clearData();
    dataTransfer?.setData(OWN, String(entries.length));
    if (dataTransfer !== null) dataTransfer.effectAllowed = 'copyMove';
  }

  end(): void {
    this.#dragged = [];
    this.#leave();
  }

  #leave(): void {
    this.#events.held(undefined, undefined);
  }

  #canTake(folder: Folder, isOwn: boolean): boolean {
    if (!isOwn) return true;
    // Entries dragged from another picker of the page are unknown here.
    if (this.#dragged.length === 0) return false;
    return !this.#dragged.some((entry) => {
      const own = joined(entry.path, entry.name);
      const isInside = entry.type === 'folder' && (folder.path === own || folder.path.startsWith(`${own}/`));
      return entry.source === folder.source && (entry.path === folder.path || isInside);
    });
  }

  #over(event: DragEvent): void {
    const { dataTransfer } = event;
    if (dataTransfer === null) return;
    const isOwn = dataTransfer.types.includes(OWN);
    if (!isOwn && !dataTransfer.types.includes('Files')) return;
    const folder = this.#events.targetOf(event);
    if (folder === undefined || !this.#canTake(folder, isOwn)) {
      refuseFiles(event);
      return this.#leave();
    }
    event.preventDefault();
    const isCopy = event.ctrlKey || event.altKey;
    dataTransfer.dropEffect = isOwn && !isCopy ? 'move' : 'copy';
    this.#events.held({ folder, isMove: isOwn }, event.composedPath()[0]);
  }

  #drop(event: DragEvent): void {
    const { dataTransfer } = event;
    const folder = this.#events.targetOf(event);
    this.#leave();
    if (dataTransfer === null) return;
    const isOwn = dataTransfer.types.includes(OWN);
    if (!isOwn && !dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    if (folder === undefined) return;
    if (isOwn) {
      if (this.#canTake(folder, true))
        this.#events.moved(this.#dragged, folder, event.ctrlKey || event.altKey);
      this.#dragged = [];
    } else
      void filesDropped(dataTransfer, folder, this.#events.unreadable).then((wanted) =>
        this.#events.dropped(wanted, folder),
      );
  }
}
