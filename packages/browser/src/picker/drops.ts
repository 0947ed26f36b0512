import { type Entry, type Folder, joined } from './service.ts';
import { filesDropped, type Wanted } from './uploads.ts';

/** Marks what is dragged from a list of this page. */
const OWN = 'application/x-stowage-entries';

export interface DropEvents {
  /** The folder that something would go into when it is dropped now; undefined where nothing can be dropped. */
  readonly targetOf: (event: DragEvent) => Folder | undefined;
  /** Names the target, while something is held above it; undefined when it is not any more. */
  readonly held: (
    target: { readonly folder: Folder; readonly isMove: boolean } | undefined,
    at: EventTarget | undefined,
  ) => void;
  readonly dropped: (wanted: readonly Wanted[], folder: Folder) => void;
  readonly moved: (entries: readonly Entry[], folder: Folder, isCopy: boolean) => void;
}

/** What is dragged over a picker: its own entries, and files of the desktop. */
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

  /** A drag of entries begins. */
  start(entries: readonly Entry[], { dataTransfer }: DragEvent): void {
    this.#dragged = entries;
    // A browser gives a dragged picture along as a file, which others would take for one of the desktop.
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
    if (folder === undefined || !this.#canTake(folder, isOwn)) return this.#leave();
    event.preventDefault();
    const isCopy = event.ctrlKey || event.altKey;
    dataTransfer.dropEffect = isOwn && !isCopy ? 'move' : 'copy';
    this.#events.held({ folder, isMove: isOwn }, event.composedPath()[0]);
  }

  #drop(event: DragEvent): void {
    const { dataTransfer } = event;
    const folder = this.#events.targetOf(event);
    this.#leave();
    if (dataTransfer === null || folder === undefined) return;
    const isOwn = dataTransfer.types.includes(OWN);
    if (!isOwn && !dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    if (isOwn) {
      if (this.#canTake(folder, true))
        this.#events.moved(this.#dragged, folder, event.ctrlKey || event.altKey);
      this.#dragged = [];
    } else void filesDropped(dataTransfer, folder).then((wanted) => this.#events.dropped(wanted, folder));
  }
}
