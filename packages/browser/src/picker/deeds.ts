import type { Commands, Surroundings } from './commands.ts';
import { openDetails } from './details-dialog.ts';
import type { Frame } from './frame.ts';
import { openImageEditor } from './image-editor.ts';
import type { Selection } from './selection.ts';
import { type Entry, type Folder, isSameFolder, keyOf, NO_RIGHTS, type Rights } from './service.ts';
import { counted } from './texts.ts';
import { type Deed, isOffered } from './toolbar.ts';
import { openTrash } from './trash-dialog.ts';

/** The context of the operations. */
export interface Stage {
  readonly folder: () => Folder;
  /** Rights in the open folder. */
  readonly rights: () => Rights;
  readonly isSearch: () => boolean;
  /** The focused entry. */
  readonly active: () => Entry | undefined;
  /** Dims these entries. */
  readonly faint: (keys: ReadonlySet<string>) => void;
  readonly askForFiles: Frame['askForFiles'];
  /** Called when the available operations have changed. */
  readonly offersChanged: () => void;
}

/** Operations on the selection, triggered by a button, a key or a menu. */
export class Deeds {
  readonly #stage: Stage;
  readonly #selection: Selection;
  readonly #commands: Commands;
  readonly #surroundings: Surroundings;
  #rightsOfChosen: Rights = NO_RIGHTS;
  #held: { readonly way: 'move' | 'copy'; readonly entries: readonly Entry[] } | undefined;

  constructor(stage: Stage, selection: Selection, commands: Commands, surroundings: Surroundings) {
    this.#stage = stage;
    this.#selection = selection;
    this.#commands = commands;
    this.#surroundings = surroundings;
  }

  /**
   * Updates the operations after a change of the selection or of the rights. Search results may be in any
   * folder.
   */
  chosen(): void {
    const { entries } = this.#selection;
    const folder = this.#stage.folder();
    const isHere = entries.every((entry) => isSameFolder(entry, folder));
    this.#rightsOfChosen = isHere ? this.#stage.rights() : NO_RIGHTS;
    this.#stage.offersChanged();
    if (isHere) return;
    void this.#surroundings.service.rightsInAll(entries).then((rights) => {
      if (entries.length !== this.#selection.size || entries.some((entry) => !this.#selection.has(entry)))
        return;
      this.#rightsOfChosen = rights;
      this.#stage.offersChanged();
    });
  }

  offers(deed: Deed): boolean {
    if (deed === 'paste' && this.#held === undefined) return false;
    if (this.#stage.isSearch() && (deed === 'upload' || deed === 'newFolder' || deed === 'paste'))
      return false;
    return isOffered(deed, this.#selection.entries, this.#rightsOfChosen, this.#stage.rights());
  }

  do(deed: Deed): void {
    const { entries } = this.#selection;
    const [first] = entries;
    const folder = this.#stage.folder();
    if (deed === 'upload') this.#stage.askForFiles();
    else if (deed === 'newFolder') void this.#commands.createFolder(folder);
    else if (deed === 'paste') this.#put();
    else if (deed === 'trash') this.#openTrash(folder.source);
    else if (first !== undefined) this.#doTo(deed, first, entries, folder);
  }

  #doTo(deed: Deed, first: Entry, entries: readonly Entry[], folder: Folder): void {
    const commands = this.#commands;
    if (deed === 'rename') void commands.rename(first);
    else if (deed === 'remove') void commands.remove(entries);
    else if (deed === 'download') void commands.download(entries);
    else if (deed === 'turnLeft') void commands.turn(first, 270);
    else if (deed === 'turnRight') void commands.turn(first, 90);
    else if (deed === 'replace')
      this.#stage.askForFiles({
        accept: /\.jpe?g$/iu.test(first.name) ? '.jpg,.jpeg' : (/\.[^.]*$/u.exec(first.name)?.[0] ?? ''),
        take: (file) => void commands.replace(first, file),
      });
    else if (deed === 'details') void openDetails(first, this.#rightsOfChosen, this.#surroundings, commands);
    else if (deed === 'edit')
      void openImageEditor(first, this.#rightsOfChosen, { ...this.#surroundings, commands });
    else if (deed === 'move' || deed === 'copy') void commands.send(entries, deed, folder);
  }

  #openTrash(name: string): void {
    const source = this.#surroundings.sources().find((one) => one.name === name);
    if (source !== undefined) void openTrash(source, this.#surroundings);
  }

  /** Handles keyboard shortcuts. True: the key was handled. */
  pressed({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
    // Keyboards of Apple's laptops have no other key for Delete.
    const isDelete = key === 'Delete' || (key === 'Backspace' && metaKey);
    const deed = key === 'F2' ? 'rename' : isDelete ? 'remove' : undefined;
    if (deed !== undefined) {
      this.#chooseActive();
      if (this.offers(deed)) this.do(deed);
      return true;
    }
    if (!ctrlKey && !metaKey) return false;
    const letter = key.toLowerCase();
    if (letter === 'x' || letter === 'c') return this.#hold(letter === 'x' ? 'move' : 'copy');
    if (letter !== 'v' || this.#held === undefined) return false;
    this.#put();
    return true;
  }

  /** Forgets the entries that were cut or copied: they may have changed. */
  forget(): void {
    this.#held = undefined;
    this.#stage.faint(new Set());
  }

  #chooseActive(): void {
    const active = this.#stage.active();
    if (this.#selection.size === 0 && active !== undefined) this.#selection.set([active]);
  }

  #hold(way: 'move' | 'copy'): boolean {
    this.#chooseActive();
    const { entries } = this.#selection;
    if (entries.length === 0 || !this.offers(way)) return false;
    this.#held = { way, entries };
    this.#stage.faint(new Set(way === 'move' ? entries.map(keyOf) : []));
    const { texts, notices } = this.#surroundings;
    const forms = way === 'move' ? texts.cut : texts.taken;
    notices.tell(counted(texts, forms, entries.length, { name: entries[0]?.name ?? '' }));
    this.#stage.offersChanged();
    return true;
  }

  #put(): void {
    const held = this.#held;
    this.forget();
    if (held !== undefined) void this.#commands.sendTo(held.entries, held.way, this.#stage.folder());
    this.#stage.offersChanged();
  }
}
