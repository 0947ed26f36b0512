import { itemOf, pictureOf, textOf, type Written } from './content.ts';
import type { History, Outcome } from './history.ts';
import type { Random } from './random.ts';
import { wordsOf } from './words.ts';

/** Where something lies: a source, and a path inside it without a slash at either end. */
export interface Spot {
  readonly source: string;
  readonly path: string;
}

/** What all clients believe is there. Others change it meanwhile, so part of it is always wrong. */
export class World {
  readonly sources: readonly string[];
  files: Spot[] = [];
  folders: Spot[];
  #numbers = 0;

  constructor(sources: readonly string[]) {
    this.sources = sources;
    this.folders = sources.map((source) => ({ source, path: '' }));
  }

  number(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  relocate(from: Spot, to: Spot): void {
    const moved = (spot: Spot): Spot => {
      if (spot.source !== from.source) return spot;
      if (spot.path === from.path) return to;
      return spot.path.startsWith(`${from.path}/`)
        ? { source: to.source, path: to.path + spot.path.slice(from.path.length) }
        : spot;
    };
    this.files = this.files.map(moved);
    this.folders = this.folders.map(moved);
  }

  forget(gone: Spot): void {
    const stays = ({ source, path }: Spot): boolean =>
      path === '' || source !== gone.source || (path !== gone.path && !path.startsWith(`${gone.path}/`));
    this.files = this.files.filter(stays);
    this.folders = this.folders.filter(stays);
  }
}

export const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

type Fields = Readonly<Record<string, string>>;

interface Reply {
  readonly outcome: Outcome;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What all clients share. */
export interface Setting {
  readonly url: string;
  /** Serves `/<name>` for remote uploads. */
  readonly remote: { offer(name: string, content: Uint8Array): string };
  readonly world: World;
  readonly history: History;
  /** Unexpected answers, such as an internal error. */
  readonly complaints: string[];
}

/** One editor that does one thing after the other; now and then it leaves before the answer. */
export class Client {
  readonly #setting: Setting;
  readonly #random: Random;
  readonly #owned: { readonly item: string; version: number; spot: Spot }[] = [];

  constructor(setting: Setting, random: Random) {
    this.#setting = setting;
    this.#random = random;
  }

  async act(): Promise<void> {
    const actions: readonly [weight: number, run: () => Promise<void>][] = [
      [14, () => this.#upload()],
      [4, () => this.#uploadPicture()],
      [10, () => this.#rewrite()],
      [4, () => this.#edit()],
      [3, () => this.#uploadRemote()],
      [12, () => this.#transfer('fileMove')],
      [7, () => this.#transfer('fileCopy')],
      [12, () => this.#rename('fileRename')],
      [6, () => this.#removeFile()],
      [5, () => this.#makeFolder()],
      [7, () => this.#transferFolder('folderMove')],
      [1, () => this.#transferFolder('folderCopy')],
      [4, () => this.#rename('folderRename')],
      [1, () => this.#removeFolder()],
      [4, () => this.#look()],
      [10, () => this.#describe()],
    ];
    let point = this.#random.below(actions.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, run] of actions) {
      point -= weight;
      if (point < 0) return run();
    }
  }

  async #send(action: string, body: BodyInit): Promise<Reply> {
    const { url, history, complaints } = this.#setting;
    const leaves = this.#random.chance(0.06) ? AbortSignal.timeout(this.#random.below(40)) : undefined;
    const give = (outcome: Outcome, data: Reply['data'] = {}): Reply => {
      history.count(outcome);
      return { outcome, data };
    };
    try {
      const answer = await fetch(`${url}/${action}`, {
        method: 'POST',
        body,
        ...(leaves === undefined ? {} : { signal: leaves }),
      });
      const { data } = (await answer.json()) as { data: Reply['data'] };
      if (answer.status === 200) return give('done', data);
      if (answer.status < 500) return give('refused', data);
      const text = JSON.stringify(data);
      if (!/MOVED_IN_PART|BUSY|still where it was|busy/u.test(text)) complaints.push(`${action}: ${text}`);
      return give('unknown', data);
    } catch (error) {
      if (leaves?.aborted !== true) throw error;
      return give('unknown');
    }
  }

  #call(action: string, fields: Fields): Promise<Reply> {
    return this.#send(action, new URLSearchParams(fields));
  }

  async #store(written: Written, spot: Spot, name: string, content: Uint8Array<ArrayBuffer>): Promise<void> {
    const { world, history } = this.#setting;
    const form = new FormData();
    form.append('source', spot.source);
    form.append('path', spot.path);
    form.append('files[0]', new Blob([content]), name);
    const { outcome, data } = await this.#send('fileUpload', form);
    history.wrote(written, spot.path, outcome);
    const [path] = (data['files'] ?? []) as string[];
    if (outcome === 'done' && path !== undefined) world.files.push({ source: spot.source, path });
    if (outcome !== 'refused') this.#owned.push({ ...written, spot });
  }

  async #upload(): Promise<void> {
    const { world } = this.#setting;
    const written = { item: `t${String(world.number())}`, version: 1 };
    const spot = this.#random.pickRecent(world.folders);
    await this.#store(written, spot, `${written.item}.txt`, textOf(written, this.#random.below(1000)));
  }

  async #uploadPicture(): Promise<void> {
    const { world } = this.#setting;
    const written = { item: `p${String(world.number())}`, version: 1 };
    const spot = this.#random.pickRecent(world.folders);
    await this.#store(written, spot, `${written.item}.png`, await pictureOf(written));
  }

  /** A newer version of an item of our own, by the name and in the folder that it had at first. */
  async #rewrite(): Promise<void> {
    if (this.#owned.length === 0) return;
    const own = this.#random.pickRecent(this.#owned);
    const { history } = this.#setting;
    if (own.version >= 250) return;
    own.version += 1;
    const written = { item: own.item, version: own.version };
    const isPicture = own.item.startsWith('p');
    const name = `${own.item}.${isPicture ? 'png' : 'txt'}`;
    const form = new FormData();
    form.append('source', own.spot.source);
    form.append('path', own.spot.path);
    if (isPicture) form.append('name', name);
    const content = isPicture ? await pictureOf(written) : textOf(written, this.#random.below(1000));
    form.append('files[0]', new Blob([content]), name);
    const { outcome } = await this.#send(isPicture ? 'imageSave' : 'fileUpload', form);
    history.wrote(written, own.spot.path, outcome);
    // Where the older version has moved away meanwhile there are two files now.
    history.copied(name, own.spot.path, outcome);
  }

  async #edit(): Promise<void> {
    const { world, history } = this.#setting;
    const pictures = world.files.filter(({ path }) => path.endsWith('.png'));
    if (pictures.length === 0) return;
    const { source, path } = this.#random.pickRecent(pictures);
    const size = String(20 + this.#random.below(20));
    const box = this.#random.chance(0.5)
      ? { action: 'imageResize', 'box[w]': size, 'box[h]': size }
      : { action: 'imageCrop', 'box[x]': '0', 'box[y]': '0', 'box[w]': '10', 'box[h]': '10' };
    const { action, ...fields } = box;
    const { outcome } = await this.#call(action, {
      source,
      path: parentOf(path),
      name: nameOf(path),
      ...(fields as Fields),
    });
    history.copied(nameOf(path), parentOf(path), outcome);
  }

  async #uploadRemote(): Promise<void> {
    const { world, history, remote } = this.#setting;
    const written = { item: `t${String(world.number())}`, version: 1 };
    const spot = this.#random.pickRecent(world.folders);
    const url = remote.offer(`${written.item}.txt`, textOf(written, this.#random.below(1000)));
    const { outcome } = await this.#call('fileUploadRemote', { ...spot, url });
    history.wrote(written, spot.path, outcome);
    if (outcome === 'done')
      world.files.push({ source: spot.source, path: join(spot.path, `${written.item}.txt`) });
  }

  async #transfer(action: 'fileMove' | 'fileCopy'): Promise<void> {
    const { world, history } = this.#setting;
    if (world.files.length === 0) return;
    const file = this.#random.pickRecent(world.files);
    const target = this.#random.pick(world.folders);
    const { outcome } = await this.#call(action, { ...target, fromSource: file.source, from: file.path });
    const to = { source: target.source, path: join(target.path, nameOf(file.path)) };
    if (action === 'fileCopy') return history.copied(nameOf(file.path), target.path, outcome);
    history.moved(nameOf(file.path), target.path, outcome);
    if (outcome === 'done') world.relocate(file, to);
  }

  async #transferFolder(action: 'folderMove' | 'folderCopy'): Promise<void> {
    const { world, history } = this.#setting;
    const folders = world.folders.filter(({ path }) => path !== '');
    if (folders.length === 0) return;
    const folder = this.#random.pickRecent(folders);
    const target = this.#random.pick(world.folders);
    // Copies of copies would double what is there again and again.
    if (action === 'folderCopy' && (folder.path.includes(' (') || folder.path.includes('/'))) return;
    const { outcome } = await this.#call(action, { ...target, fromSource: folder.source, from: folder.path });
    if (action === 'folderCopy') return history.copied(nameOf(folder.path), target.path, outcome);
    history.moved(nameOf(folder.path), target.path, outcome);
    const to = { source: target.source, path: join(target.path, nameOf(folder.path)) };
    if (outcome === 'done') world.relocate(folder, to);
  }

  async #rename(action: 'fileRename' | 'folderRename'): Promise<void> {
    const { world, history } = this.#setting;
    const items = action === 'fileRename' ? world.files : world.folders.filter(({ path }) => path !== '');
    if (items.length === 0) return;
    const { source, path } = this.#random.pickRecent(items);
    const [item = ''] = /^[a-z]\d+/u.exec(nameOf(path)) ?? [];
    const extension = /\.[a-z]+$/u.exec(path)?.[0] ?? '';
    const newname = `${item}-r${String(world.number())}${extension}`;
    const fields = { source, path: parentOf(path), name: nameOf(path), newname };
    const { outcome } = await this.#call(action, fields);
    history.moved(nameOf(path), parentOf(path), outcome);
    if (outcome === 'done') world.relocate({ source, path }, { source, path: join(parentOf(path), newname) });
  }

  async #removeFile(): Promise<void> {
    const { world, history } = this.#setting;
    if (world.files.length === 0) return;
    const file = this.#random.pickRecent(world.files);
    const fields = { source: file.source, path: parentOf(file.path), name: nameOf(file.path) };
    const { outcome } = await this.#call('fileRemove', fields);
    history.removed(nameOf(file.path), outcome);
    if (outcome === 'done') world.forget(file);
  }

  async #makeFolder(): Promise<void> {
    const { world, history } = this.#setting;
    const parent = this.#random.pick(world.folders);
    if (parent.path.split('/').length > 4) return;
    // Only folders whose names begin with a d are ever removed, so that little else is excused.
    const name = `${this.#random.chance(0.2) ? 'd' : 'f'}${String(world.number())}`;
    const { outcome } = await this.#call('folderCreate', { ...parent, name });
    history.moved(name, parent.path, outcome);
    if (outcome === 'done') world.folders.push({ source: parent.source, path: join(parent.path, name) });
  }

  async #removeFolder(): Promise<void> {
    const { world, history } = this.#setting;
    const folders = world.folders.filter(({ path }) => nameOf(path).startsWith('d'));
    if (folders.length === 0) return;
    const folder = this.#random.pickRecent(folders);
    const fields = { source: folder.source, path: parentOf(folder.path), name: nameOf(folder.path) };
    const { outcome } = await this.#call('folderRemove', fields);
    history.removed(nameOf(folder.path), outcome);
    if (outcome === 'done') world.forget(folder);
  }

  /** Says something about a file of an item of our own, wherever it is. */
  async #describe(): Promise<void> {
    const { world, history } = this.#setting;
    if (this.#owned.length === 0) return;
    const { item } = this.#random.pickRecent(this.#owned);
    const files = world.files.filter(({ path }) => itemOf(nameOf(path)) === item);
    if (files.length === 0) return;
    const { source, path } = this.#random.pick(files);
    const said = history.words.next(item);
    const fields = { source, path: parentOf(path), name: nameOf(path), ...wordsOf(said) };
    const { outcome } = await this.#call('fileDescribe', fields);
    history.words.said(said, outcome);
  }

  /** Learns what others have done. */
  async #look(): Promise<void> {
    const { world } = this.#setting;
    const folder = this.#random.pick(world.folders);
    const { outcome, data } = await this.#call('files', { ...folder, 'mods[withFolders]': 'true' });
    if (outcome === 'refused') world.forget(folder);
    const [source] = (data['sources'] ?? []) as { files: { name: string; type: string }[] }[];
    const known = new Set([...world.files, ...world.folders].map((spot) => `${spot.source}:${spot.path}`));
    for (const { name, type } of source?.files ?? []) {
      const spot = { source: folder.source, path: join(folder.path, name) };
      if (known.has(`${spot.source}:${spot.path}`)) continue;
      (type === 'folder' ? world.folders : world.files).push(spot);
    }
  }
}
