import type { AboutChange } from './about-form.ts';
import type { Dialogs, Note } from './dialogs.ts';
import { saveFile } from './dom.ts';
import { type AskForMany, doToMany, folderOf, type Outcome, requireAll } from './many.ts';
import { renamedAs } from './names.ts';
import type { Notices } from './notices.ts';
import type { About } from './options.ts';
import {
  type Entry,
  type Folder,
  isSameFolder,
  joined,
  parentOf,
  type Service,
  type SourceInfo,
} from './service.ts';
import { counted, fill, type Plural, type Texts } from './texts.ts';
import { TrashUndo } from './undo.ts';
import type { Uploads } from './uploads.ts';
import { noteOfUses } from './uses.ts';

/** Dependencies of the commands. */
export interface Surroundings {
  readonly service: Service;
  readonly dialogs: Dialogs;
  readonly notices: Notices;
  readonly texts: Texts;
  readonly sources: () => readonly SourceInfo[];
  readonly uploads: Uploads;
  /** Called after a failure: the shown entries may have been changed elsewhere. */
  readonly reload: () => void;
  /** Called with the folders whose content has changed. */
  readonly changed: (folders: readonly Folder[], change?: Change) => void;
}

/** A change of entries. */
export interface Change {
  /** Entry to focus. */
  readonly focus?: Folder & { readonly name: string };
  /** Entries that no longer exist, or have another name. */
  readonly gone?: readonly Entry[];
  /** New state of an entry until the list is reloaded. */
  readonly updated?: Entry;
}

/** Operations on entries, each with its dialogs, message and undo. */
export class Commands {
  readonly #surroundings: Surroundings;
  readonly #trash: TrashUndo;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#trash = new TrashUndo(surroundings.service);
  }

  async createFolder(at: Folder): Promise<void> {
    const { dialogs, texts, service, notices, changed } = this.#surroundings;
    const name = await dialogs.askName(texts.newFolder, texts.newFolderName);
    if (name === undefined) return;
    await this.#trying(async () => {
      await service.client.folderCreate({ ...at, name });
      notices.tell(fill(texts.done.created, { name }));
      changed([at], { focus: { ...at, name } });
    });
  }

  async rename(entry: Entry): Promise<void> {
    const { dialogs, texts, notices, changed } = this.#surroundings;
    const title = `${texts.rename}: ${entry.name}`;
    const wanted = await dialogs.askName(title, texts.newName, entry.name, this.#usesOf([entry]));
    if (wanted === undefined) return;
    const folder = folderOf(entry);
    await this.#trying(async () => {
      await this.#renameTo(entry, wanted);
      const name = renamedAs(entry, wanted);
      const renamed = name === undefined ? undefined : { ...entry, name };
      // Without knowing the new name, an undo might rename another file.
      const offer = renamed && {
        label: texts.undo,
        run: () => this.#undo(() => this.#renameTo(renamed, entry.name), [folder], [renamed]),
      };
      notices.tell(fill(texts.done.renamed, { name: entry.name, newName: name ?? wanted }), offer);
      changed([folder], { gone: [entry], ...(renamed && { focus: renamed }) });
    });
  }

  async #renameTo({ source, path, name, type }: Entry, newname: string): Promise<void> {
    const { client } = this.#surroundings.service;
    if (type === 'folder') await client.folderRename({ source, path, name, newname });
    else await client.fileRename({ source, path, name, newname });
  }

  async remove(entries: readonly Entry[]): Promise<void> {
    const { dialogs, texts, service, notices, changed } = this.#surroundings;
    const [first] = entries;
    if (first === undefined) return;
    const { permissions } = await service.rightsInAll(entries);
    const comesBack = permissions.allowTrashRestore === true;
    const question = counted(texts, texts.removeQuestion, entries.length, { name: first.name });
    const warning = comesBack ? undefined : texts.removeFinal;
    if (!(await dialogs.confirm(question, warning, texts.remove, this.#usesOf(entries)))) return;
    const outcome = await this.#removeAll(entries);
    const items = await this.#trash.removed(outcome.done);
    const folders = entries.map(folderOf);
    const undo = (): void => this.#undo(() => this.#trash.restore(items), folders);
    this.#report(outcome, texts.removed, {}, items.length > 0 ? undo : undefined);
    changed(folders, { gone: outcome.done });
    if (outcome.done.length > 0)
      notices.speak(counted(texts, texts.removed, outcome.done.length, { name: first.name }));
  }

  /** Asks for a folder, and moves or copies entries there. */
  async send(entries: readonly Entry[], way: 'move' | 'copy', at: Folder): Promise<void> {
    const { dialogs, texts, service, sources } = this.#surroundings;
    const forms = way === 'move' ? texts.moveTo : texts.copyTo;
    const title = counted(texts, forms, entries.length, { name: entries[0]?.name ?? '' });
    const note = way === 'move' ? this.#usesOf(entries) : undefined;
    const folder = await dialogs.chooseFolder(title, service, sources(), at, note);
    if (folder !== undefined) await this.#send(entries, way, folder);
  }

  /** Moves or copies entries into a folder chosen by drop or key, after showing the pages that use them. */
  async sendTo(entries: readonly Entry[], way: 'move' | 'copy', to: Folder): Promise<void> {
    const { texts } = this.#surroundings;
    const title = counted(texts, texts.moveTo, entries.length, { name: entries[0]?.name ?? '' });
    const action = fill(texts.moveHere, { folder: this.#titleOf(to) });
    if (way === 'copy' || (await this.#accepted(entries, title, action))) await this.#send(entries, way, to);
  }

  #usesOf(entries: readonly Entry[]): Note {
    const { service, texts } = this.#surroundings;
    return noteOfUses(service, texts, entries);
  }

  /** Asks for confirmation only if pages use one of the entries. */
  async #accepted(entries: readonly Entry[], title: string, action: string): Promise<boolean> {
    const note = await this.#usesOf(entries);
    const { dialogs } = this.#surroundings;
    return note === undefined || dialogs.confirm(title, undefined, action, Promise.resolve(note));
  }

  async #send(entries: readonly Entry[], way: 'move' | 'copy', to: Folder): Promise<void> {
    const { texts, changed } = this.#surroundings;
    const own = entries.filter((entry) => way === 'copy' || !isSameFolder(entry, to));
    if (own.length === 0) return;
    const outcome = await this.#sendAll(own, way, to);
    const folders = [to, ...(way === 'move' ? own.map(folderOf) : [])];
    const values = { folder: this.#titleOf(to) };
    const there = outcome.named.map((entry) => ({ ...entry, ...to }));
    const back = (): Promise<unknown> =>
      way === 'move' ? this.#moveBack(outcome.done, there) : this.#removeAll(there).then(requireAll);
    const undo = outcome.done.length > 0 ? (): void => this.#undo(back, folders, there) : undefined;
    this.#report(outcome, way === 'move' ? texts.moved : texts.copied, values, undo);
    changed(folders, way === 'move' ? { gone: outcome.done } : {});
  }

  #sendAll(entries: readonly Entry[], way: 'move' | 'copy', to: Folder): Promise<Outcome> {
    const { client } = this.#surroundings.service;
    return this.#many(entries, (isFolder, { source: fromSource, path: from }, names) => {
      const parameters = { ...to, fromSource, froms: names.map((name) => joined(from, name)) };
      if (way === 'move') return isFolder ? client.folderMove(parameters) : client.fileMove(parameters);
      return isFolder ? client.folderCopy(parameters) : client.fileCopy(parameters);
    });
  }

  /** Moves the entries `there` back into their former folders. */
  async #moveBack(before: readonly Entry[], there: readonly Entry[]): Promise<void> {
    const pairs = there.map((entry, index) => ({ entry, folder: folderOf(before[index] ?? entry) }));
    const outcomes: Outcome[] = [];
    for (const group of Map.groupBy(pairs, ({ folder }) => JSON.stringify(folder)).values()) {
      const [first] = group;
      if (first === undefined) continue;
      const entries = group.map(({ entry }) => entry);
      outcomes.push(await this.#sendAll(entries, 'move', first.folder));
    }
    outcomes.forEach(requireAll);
  }

  #removeAll(entries: readonly Entry[]): Promise<Outcome> {
    const { client } = this.#surroundings.service;
    return this.#many(entries, (isFolder, { source, path }, names) =>
      isFolder ? client.folderRemove({ source, path, names }) : client.fileRemove({ source, path, names }),
    );
  }

  /** Downloads a file, or an archive of several entries; for search results, one archive per folder. */
  async download(entries: readonly Entry[]): Promise<void> {
    const { client } = this.#surroundings.service;
    await this.#trying(async () => {
      for (const group of Map.groupBy(entries, (entry) => JSON.stringify(folderOf(entry))).values()) {
        const [first] = group;
        if (first === undefined) continue;
        const { source, path, name } = first;
        const isOne = group.length === 1 && first.type !== 'folder';
        const response = await client.fileDownload(
          isOne ? { source, path, name } : { source, path, names: group.map((entry) => entry.name) },
        );
        await saveFile(response, isOne ? name : undefined);
      }
    });
  }

  /**
   * Changes the content of a file, and offers an undo if the former content is kept. A change that resolves
   * to false was cancelled, and is not reported.
   */
  async edit(
    entry: Entry,
    change: () => Promise<unknown>,
    message = this.#surroundings.texts.image.changed,
  ): Promise<boolean> {
    const { texts, notices, changed } = this.#surroundings;
    const folder = folderOf(entry);
    return this.#trying(async () => {
      let isDone = true;
      const back = await this.#trash.around(entry, async () => {
        isDone = (await change()) !== false;
      });
      if (!isDone) return;
      const offer = back && { label: texts.undo, run: () => this.#undo(back, [folder]) };
      notices.tell(fill(message, { name: entry.name }), offer);
      changed([folder], { focus: entry });
    });
  }

  /** Replaces the content of a file by that of another, under its existing link. */
  async replace(entry: Entry, file: File): Promise<void> {
    const { texts, uploads } = this.#surroundings;
    const { name } = entry;
    if (!(await this.#accepted([entry], `${texts.replace} ${name}`, texts.replace))) return;
    const send = async (): Promise<boolean> =>
      (await uploads.store([{ ...folderOf(entry), file, replaces: name }])).length > 0;
    await this.edit(entry, send, texts.done.replaced);
  }

  /** Changes the description of a file. @throws ConnectorError: the dialog with the form stays open */
  async describe(entry: Entry, change: AboutChange): Promise<void> {
    const { service, texts, notices, changed } = this.#surroundings;
    const folder = folderOf(entry);
    const updated = { ...entry, about: await service.describe(entry, change) };
    const before = Object.keys(change).map((key) => [key, entry.about?.[key as keyof About] ?? null]);
    const back = () => service.describe(entry, Object.fromEntries(before) as AboutChange);
    const undo = { label: texts.undo, run: () => this.#undo(back, [folder]) };
    notices.tell(fill(texts.done.described, { name: entry.name }), undo);
    changed([folder], { focus: entry, updated });
  }

  async turn(entry: Entry, angle: 90 | 270): Promise<void> {
    const { source, path, name } = entry;
    await this.edit(entry, () =>
      this.#surroundings.service.client.imageRotate({ source, path, name, angle }),
    );
  }

  #many(entries: readonly Entry[], ask: AskForMany): Promise<Outcome> {
    const { service, texts } = this.#surroundings;
    return doToMany(entries, ask, (error) => service.messageOf(error, texts));
  }

  #report(
    { done, total, reason }: Outcome,
    forms: Plural,
    values: Readonly<Record<string, string>>,
    undo: (() => void) | undefined,
  ): void {
    const { texts, notices } = this.#surroundings;
    if (done.length > 0) {
      const text = counted(texts, forms, done.length, { name: done[0]?.name ?? '', ...values });
      notices.tell(text, undo && { label: texts.undo, run: undo });
    }
    if (reason === undefined) return;
    notices.warn(total === 1 ? reason : fill(texts.someFailed, { done: done.length, total, reason }));
  }

  #undo(back: () => Promise<unknown>, folders: readonly Folder[], gone: readonly Entry[] = []): void {
    const { texts, notices, changed } = this.#surroundings;
    void this.#trying(async () => {
      await back();
      notices.tell(texts.done.undone);
    }).then(() => changed(folders, { gone }));
  }

  async #trying(run: () => Promise<void>): Promise<boolean> {
    const { service, notices, texts, reload } = this.#surroundings;
    try {
      await run();
      return true;
    } catch (error) {
      notices.warn(service.messageOf(error, texts));
      reload();
      return false;
    }
  }

  #titleOf({ source, path }: Folder): string {
    if (path !== '') return path.slice(parentOf(path).length).replace('/', '');
    return this.#surroundings.sources().find(({ name }) => name === source)?.title ?? source;
  }
}
