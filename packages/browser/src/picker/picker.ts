import { Browsing } from './browsing.ts';
import { type Change, Commands, type Surroundings } from './commands.ts';
import { Deeds } from './deeds.ts';
import { Dialogs } from './dialogs.ts';
import { Drops } from './drops.ts';
import { Frame, type FrameEvents } from './frame.ts';
import { Grid, type GridEvents } from './grid.ts';
import { named } from './names.ts';
import { Notices } from './notices.ts';
import type { PickedFile, PickerOptions } from './options.ts';
import type { Slow } from './patience.ts';
import { Selection } from './selection.ts';
import { type Entry, type Folder, joined, pickedOf, Service } from './service.ts';
import { counted, fill, type Texts } from './texts.ts';
import { DEEDS_FOR_ENTRIES, Toolbar } from './toolbar.ts';
import { Tree } from './tree.ts';
import { Uploads } from './uploads.ts';

/** Connects the parts of a picker: browsing, selection, and operations. */
export class Picker {
  readonly element: HTMLElement;
  readonly #options: PickerOptions;
  readonly #texts: Texts;
  readonly #done: (files?: readonly PickedFile[]) => void;
  readonly #service: Service;
  readonly #selection = new Selection(() => this.#chosen());
  readonly #grid: Grid;
  readonly #tree: Tree;
  readonly #toolbar: Toolbar;
  readonly #frame: Frame;
  readonly #notices: Notices;
  readonly #dialogs: Dialogs;
  readonly #uploads: Uploads;
  readonly #commands: Commands;
  readonly #deeds: Deeds;
  readonly #drops: Drops;
  readonly #browsing: Browsing;
  #isClosed = false;

  constructor(
    options: PickerOptions,
    texts: Texts,
    /** Called with the picked files; without files when the picker is cancelled. */
    done: (files?: readonly PickedFile[]) => void,
  ) {
    this.#options = options;
    this.#texts = texts;
    this.#done = done;
    const slow: Slow = (stop) => this.#uploads.wait(texts.trouble.working, stop);
    const service = (this.#service = new Service({ ...options, slow }));
    const notices = (this.#notices = new Notices(texts, () => this.#grid.focus()));
    this.#toolbar = new Toolbar(texts, {
      asked: (deed) => this.#deeds.do(deed),
      sorted: (order) => this.#browsing.sort(order),
      viewed: (view) => {
        this.#browsing.show(view);
        this.#offer();
      },
      focusLost: () => this.#grid.focus(),
    });
    this.#tree = new Tree(service, texts, {
      chosen: (folder) => {
        if (this.#frame.fold()) this.#grid.focus();
        this.#browsing.open(folder);
      },
      failed: (error) => this.#browsing.warn(error),
    });
    this.#grid = new Grid(this.#selection, texts, this.#gridEvents());
    this.#uploads = new Uploads(service, notices, texts, (stored) => {
      const focus = stored.at(-1);
      this.#changed(stored, focus && { focus });
    });
    const parts = {
      toolbar: this.#toolbar.element,
      tree: this.#tree.element,
      files: this.#grid.element,
      uploads: this.#uploads.element,
      notices: notices.element,
    };
    this.#frame = new Frame(texts, parts, this.#frameEvents());
    this.element = this.#frame.element;
    this.#dialogs = new Dialogs(this.element, texts);
    const [selection, grid, tree, frame] = [this.#selection, this.#grid, this.#tree, this.#frame];
    this.#browsing = new Browsing({
      ...{ service, texts, options, notices, selection, grid, tree, frame },
      rightsChanged: () => this.#chosen(),
    });
    const surroundings: Surroundings = {
      ...{ service, dialogs: this.#dialogs, notices, texts, uploads: this.#uploads },
      sources: () => this.#browsing.sources,
      reload: () => this.#browsing.reload(),
      changed: (folders, change) => this.#changed(folders, change),
    };
    this.#commands = new Commands(surroundings);
    this.#deeds = new Deeds(this.#stage(), selection, this.#commands, surroundings);
    this.#drops = this.#takeDrops();
    // Firefox reports a paste outside of text fields at the body, whatever has the focus.
    document.addEventListener('paste', this.#paste);
    void this.#browsing.start();
  }

  close(): void {
    this.#isClosed = true;
    document.removeEventListener('paste', this.#paste);
    this.#browsing.close();
    this.#uploads.close();
    this.#tree.close();
    this.#grid.close();
    this.element.remove();
  }

  /** Whether the picker may be closed. Asks the user if that cancels uploads. */
  mayClose(): boolean | Promise<boolean> {
    const { sending, close } = this.#texts;
    return !this.#uploads.isRunning || this.#dialogs.confirm(sending.unfinished, undefined, close);
  }

  focus(): void {
    this.#grid.focus();
  }

  #gridEvents(): GridEvents {
    return {
      opened: (entry) => this.#opened(entry),
      menuWanted: (entry, at) => this.#menu(entry, at),
      keyPressed: (event) => this.#pressed(event),
      dragStarted: (entry, event) => this.#drag(entry, event),
      dragEnded: () => this.#drops.end(),
    };
  }

  #frameEvents(): FrameEvents {
    return {
      searched: (query, isEverywhere) => this.#browsing.search(query, isEverywhere),
      // The pressed element is removed, so the focus moves to the list.
      went: (folder) => {
        this.#grid.focus();
        this.#browsing.open(folder);
      },
      retried: () => {
        this.#grid.focus();
        this.#browsing.reload();
      },
      picked: () => this.#pick(),
      cancelled: () => this.#done(),
      filesChosen: (files) => this.#upload(files),
    };
  }

  #stage(): ConstructorParameters<typeof Deeds>[0] {
    return {
      folder: () => this.#browsing.folder,
      rights: () => this.#browsing.rights,
      isSearch: () => this.#browsing.isSearch,
      active: () => this.#grid.active,
      faint: (keys) => this.#grid.refresh(keys),
      askForFiles: (replaced) => this.#frame.askForFiles(replaced, this.#options.types),
      offersChanged: () => this.#offer(),
    };
  }

  #changed(folders: readonly Folder[], { focus, gone = [], updated }: Change = {}): void {
    if (gone.length > 0) this.#deeds.forget();
    // The user's current selection is preserved.
    this.#selection.drop(gone);
    if (updated !== undefined) this.#selection.refresh([updated]);
    this.#browsing.changed(folders, focus);
  }

  #chosen(): void {
    this.#grid.refresh();
    this.#deeds.chosen();
  }

  /** Updates the available operations for the selection. */
  #offer(): void {
    const { entries } = this.#selection;
    this.#toolbar.show((deed) => this.#deeds.offers(deed), this.#browsing.sortBy, this.#grid.view);
    const files = this.#insertable();
    const [first] = entries;
    const said = first && counted(this.#texts, this.#texts.selected, entries.length, { name: first.name });
    const canInsert = files.length > 0 && (files.length === 1 || this.#options.several === true);
    const insert = counted(this.#texts, this.#texts.insert, Math.max(1, files.length));
    this.#frame.showChosen(said ?? '', insert, canInsert);
  }

  /** The selected entries that can be inserted. */
  #insertable(): readonly Entry[] {
    return this.#selection.entries.filter(({ type, url }) => type !== 'folder' && url !== undefined);
  }

  #pick(): void {
    const entries = this.#insertable().slice(0, this.#options.several === true ? undefined : 1);
    if (entries.length === 0) return;
    void this.#service.withNewLinks(entries).then((renewed) => {
      if (!this.#isClosed) this.#done(renewed.map(pickedOf));
    });
  }

  #opened(entry: Entry): void {
    if (entry.type === 'folder')
      return this.#browsing.open({ source: entry.source, path: joined(entry.path, entry.name) });
    // If only one file can be inserted, it is the opened one, whatever is selected.
    if (this.#options.several !== true || !this.#selection.has(entry)) this.#selection.set([entry]);
    this.#pick();
  }

  #menu(entry: Entry, at: { readonly x: number; readonly y: number }): void {
    if (!this.#selection.has(entry)) this.#selection.set([entry]);
    const open = { label: this.#texts.open, run: () => this.#opened(entry) };
    const inserted = this.#options.several === true ? this.#insertable().length : 1;
    const insert = {
      label: counted(this.#texts, this.#texts.insert, inserted),
      run: () => this.#opened(entry),
    };
    const deeds = DEEDS_FOR_ENTRIES.filter((deed) => this.#deeds.offers(deed));
    const items = deeds.map((deed) => ({ label: this.#texts[deed], run: () => this.#deeds.do(deed) }));
    const first = entry.type === 'folder' ? [open] : entry.url !== undefined ? [insert] : [];
    const { source, path } = entry;
    const reveal = {
      label: this.#texts.finding.reveal,
      run: () => this.#browsing.open({ source, path }, entry),
    };
    this.#dialogs.menu(entry.name, [...first, ...(this.#browsing.isSearch ? [reveal] : []), ...items], at);
  }

  #pressed(event: KeyboardEvent): boolean {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (key.toLowerCase() === 'z' && (ctrlKey || metaKey)) return this.#notices.useOffer();
    const isUp = (key === 'Backspace' && !ctrlKey && !metaKey) || (key === 'ArrowUp' && altKey);
    if (!isUp) return this.#deeds.pressed(event);
    this.#browsing.openParent();
    return true;
  }

  #upload(files: readonly File[]): void {
    const { folder } = this.#browsing;
    void this.#uploads.add(
      files.map((file) => ({ file, ...folder })),
      folder,
    );
  }

  readonly #paste = (event: ClipboardEvent): void => {
    if (!this.element.matches(':focus-within')) return;
    const { files: given = [], types = [] } = event.clipboardData ?? {};
    const files = [...given];
    if (files.length === 0 || !this.#deeds.offers('upload')) return;
    // Office programs add a picture to copied text: a text field gets the text.
    const [target] = event.composedPath();
    const isField = target instanceof Element && target.matches('input, textarea');
    if (isField && types.includes('text/plain')) return;
    event.preventDefault();
    this.#upload(files.map(named));
  };

  #drag(entry: Entry, event: DragEvent): void {
    if (!this.#selection.has(entry)) this.#selection.set([entry]);
    if (this.#deeds.offers('move') || this.#deeds.offers('copy'))
      this.#drops.start(this.#selection.entries, event);
    else event.preventDefault();
  }

  #takeDrops(): Drops {
    const { moveHere, uploadTo } = this.#texts;
    return new Drops(this.element, {
      targetOf: (event) => this.#targetOf(event),
      held: (target, at) => {
        const folder = target && this.#browsing.nameOf(target.folder);
        this.#frame.showTarget(folder && fill(target?.isMove === true ? moveHere : uploadTo, { folder }), at);
      },
      dropped: (wanted, folder) => void this.#uploads.add(wanted, folder),
      unreadable: (name) => this.#notices.warn(fill(this.#texts.sending.failed, { name })),
      moved: (entries, folder, isCopy) =>
        void this.#commands.sendTo(entries, isCopy ? 'copy' : 'move', folder),
    });
  }

  #targetOf(event: DragEvent): Folder | undefined {
    const folder = this.#tree.folderAt(event) ?? this.#frame.folderAt(event);
    if (folder !== undefined) return folder;
    const entry = this.#grid.entryAt(event);
    if (entry?.type === 'folder') return { source: entry.source, path: joined(entry.path, entry.name) };
    return this.#deeds.offers('upload') ? this.#browsing.folder : undefined;
  }
}
