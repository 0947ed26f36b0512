import { createHash, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'stowage/client';
import { beginParts, sendPart, type Parts } from './parts.ts';

/** Where a file is: its path, the same in the trash, or gone. */
type State = { readonly in: 'source' | 'trash'; readonly path: string } | 'gone';

const textOf = (state: State): string => (state === 'gone' ? state : `${state.in}:${state.path}`);

/** A file that the load has made, and what has become of it as far as the service has said. */
interface Tracked {
  readonly name: string;
  state: State;
  /** What the request wants that has not been answered. */
  pending: State | undefined;
  /** Events of what was answered, in their order. */
  readonly events: string[];
  /** Present until it is answered that all parts have come. */
  parts?: Parts | undefined;
}

/** All that lies in a store, past the service. */
export type StoreView = ReadonlyMap<string, Buffer>;

const FOLDERS = ['a', 'b', 'deep/c'] as const;
const MOST_FILES = 120;
const MOST_IN_PARTS = 5;
const WORKERS = 6;
const TRASH = /^\.stowage-trash\/([^/]+)\/(?:item\/([^/]+)|(?:record|erased)\.json)$/u;

/** The content of a file follows from its name, so that a look at it says whose it is and whether it is whole. */
const contentOf = (name: string): string => {
  const digest = createHash('sha256').update(name).digest('hex');
  return `${name}\n${digest.repeat(1 + (Number.parseInt(digest.slice(0, 4), 16) % 300))}`;
};

const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');

const pick = <Item>(items: readonly Item[]): Item | undefined =>
  items.length === 0 ? undefined : items[randomInt(items.length)];

/** What went wrong, in words; empty: nothing. */
export type Faults = readonly string[];

/** Uploads, moves, removes, restores and erases files of its own, some at once, and knows where each must be. */
export class MixedLoad {
  readonly #files = new Map<string, Tracked>();
  /** Paths of second copies. */
  readonly #extra: string[] = [];
  #made = 0;
  /** Requests that were answered, and those that were cut off. */
  readonly counts = { answered: 0, cut: 0, both: 0, bothBytes: 0 };

  /**
   * Works until the signal, or until the service does not answer any more. `tus`: where uploads in parts
   * begin, if any shall.
   */
  async run(client: Client, signal: AbortSignal, tus?: string): Promise<void> {
    await Promise.all(
      Array.from({ length: WORKERS }, async () => {
        while (!signal.aborted) {
          const isParts = tus !== undefined && randomInt(4) === 0;
          if (!(await (isParts ? this.#part(tus) : this.#step(client)))) return;
        }
      }),
    );
  }

  /** Ends the uploads in parts that wait. */
  async finishParts(tus: string): Promise<void> {
    for (const file of this.#files.values()) while (file.parts !== undefined) await this.#sendPart(tus, file);
  }

  /** Waits until so many more requests have been answered, or one was cut off. */
  async untilAnswered(more: number): Promise<void> {
    const { answered, cut } = this.counts;
    while (this.counts.answered < answered + more && this.counts.cut === cut) await delay(1);
  }

  /** Makes the folders of the load. */
  async begin(client: Client): Promise<void> {
    for (const [path, name] of [
      ['', 'a'],
      ['', 'b'],
      ['', 'deep'],
      ['deep', 'c'],
    ] as const)
      await client.folderCreate({ path, name });
  }

  #idle(isWanted: (state: Exclude<State, 'gone'>) => boolean): Tracked[] {
    return [...this.#files.values()].filter(
      ({ state, pending, parts }) =>
        pending === undefined && parts === undefined && state !== 'gone' && isWanted(state),
    );
  }

  async #step(client: Client): Promise<boolean> {
    const dice = randomInt(10);
    if (dice < 3) return this.#upload(client);
    if (dice < 5) return this.#move(client);
    if (dice < 7) return this.#remove(client);
    return dice < 9 ? this.#restore(client) : this.#erase(client);
  }

  /** Sends a request about files; false when it was cut off. What it wants is then left pending. */
  async #send(
    wanted: ReadonlyMap<Tracked, State>,
    event: string | undefined,
    request: () => Promise<{ readonly results?: readonly { name: string; success: boolean }[] | undefined }>,
  ): Promise<boolean> {
    for (const [file, state] of wanted) file.pending = state;
    try {
      const { results } = await request();
      const failed = results?.filter(({ success }) => !success) ?? [];
      if (failed.length > 0) throw new Error(`A request failed: ${JSON.stringify(failed)}`);
    } catch (error) {
      if (error instanceof Error && (error.name === 'StowageError' || error.message.startsWith('A request')))
        throw error;
      this.counts.cut += 1;
      return false;
    }
    this.counts.answered += 1;
    for (const [file, state] of wanted) {
      const path = state === 'gone' ? '' : state.path;
      if (event !== undefined) file.events.push(`${event} ${path}`);
      file.state = state;
      file.pending = undefined;
    }
    return true;
  }

  async #upload(client: Client): Promise<boolean> {
    if (this.#idle(() => true).length >= MOST_FILES) {
      await delay(1);
      return true;
    }
    this.#made += 1;
    const name = `f-${String(this.#made)}.txt`;
    const path = pick(FOLDERS) ?? '';
    const file: Tracked = { name, state: 'gone', pending: undefined, events: [] };
    this.#files.set(name, file);
    const files = [new File([contentOf(name)], name)];
    const wanted = new Map<Tracked, State>([[file, { in: 'source', path: `${path}/${name}` }]]);
    return this.#send(wanted, 'file.created', async () => {
      await client.fileUpload({ path, files });
      return {};
    });
  }

  /** Begins an upload in parts, or sends another part of one. False when it was cut off. */
  async #part(tus: string): Promise<boolean> {
    const waiting = [...this.#files.values()].filter(({ parts }) => parts !== undefined);
    const file = pick(waiting.filter(({ parts }) => parts?.isSending === false));
    if (file !== undefined && waiting.length > randomInt(MOST_IN_PARTS)) return this.#sendPart(tus, file);
    this.#made += 1;
    const name = `p-${String(this.#made)}.txt`;
    const path = pick(FOLDERS) ?? '';
    const parts = await beginParts(tus, { path, name, content: contentOf(name) });
    if (parts === undefined) {
      this.counts.cut += 1;
      return false;
    }
    this.counts.answered += 1;
    this.#files.set(name, { name, state: 'gone', pending: undefined, events: [], parts });
    return true;
  }

  async #sendPart(tus: string, file: Tracked): Promise<boolean> {
    const { parts } = file;
    if (parts === undefined) return true;
    const outcome = await sendPart(tus, parts);
    if (outcome === 'cut') {
      this.counts.cut += 1;
      return false;
    }
    this.counts.answered += 1;
    if (outcome === 'more') return true;
    file.parts = undefined;
    file.state = { in: 'source', path: `${parts.path}/${file.name}` };
    file.events.push(`file.created ${file.state.path}`);
    return true;
  }

  async #move(client: Client): Promise<boolean> {
    const folder = pick(FOLDERS) ?? '';
    const files = this.#idle((state) => state.in === 'source' && folderOf(state.path) !== folder);
    const some = files.slice(0, 1 + randomInt(3));
    if (some.length === 0) return this.#upload(client);
    const froms = some.map(({ state }) => (state === 'gone' ? '' : state.path));
    const wanted = new Map<Tracked, State>(
      some.map((file) => [file, { in: 'source', path: `${folder}/${file.name}` }]),
    );
    return this.#send(wanted, 'file.moved', () => client.fileMove({ path: folder, froms }));
  }

  async #remove(client: Client): Promise<boolean> {
    const folder = pick(FOLDERS) ?? '';
    const files = this.#idle((state) => state.in === 'source' && folderOf(state.path) === folder);
    const some = files.slice(0, 1 + randomInt(3));
    if (some.length === 0) return this.#upload(client);
    const names = some.map(({ name }) => name);
    const wanted = new Map<Tracked, State>(
      some.map((file) => [file, { in: 'trash', path: `${folder}/${file.name}` }]),
    );
    return this.#send(wanted, 'file.removed', () => client.fileRemove({ path: folder, names }));
  }

  /** The id in the trash of a file that lies there; undefined when the service is gone. */
  async #idOf(client: Client, name: string): Promise<string | undefined> {
    const { items } = await client.trashList({}).catch(() => ({ items: undefined }));
    if (items === undefined) return undefined;
    const found = items.find((item) => item.name === name);
    if (found === undefined) throw new Error(`A request failed: ${name} is not listed in the trash.`);
    return found.id;
  }

  async #fromTrash(
    client: Client,
    event: string | undefined,
    wantedOf: (state: Exclude<State, 'gone'>) => State,
    request: (id: string) => Promise<unknown>,
  ): Promise<boolean> {
    const file = pick(this.#idle((state) => state.in === 'trash'));
    if (file === undefined || file.state === 'gone') return this.#upload(client);
    const wanted = wantedOf(file.state);
    file.pending = file.state;
    const id = await this.#idOf(client, file.name);
    if (id === undefined) return false;
    return this.#send(new Map([[file, wanted]]), event, async () => {
      await request(id);
      return {};
    });
  }

  #restore(client: Client): Promise<boolean> {
    return this.#fromTrash(
      client,
      'file.restored',
      ({ path }) => ({ in: 'source', path }),
      (id) => client.trashRestore({ id }),
    );
  }

  #erase(client: Client): Promise<boolean> {
    return this.#fromTrash(
      client,
      undefined,
      () => 'gone',
      (id) => client.trashRemove({ id }),
    );
  }

  /** Compares a store with what was answered, and takes over what requests that were cut off have done. */
  check(view: StoreView): Faults {
    const found = new Map<string, State[]>();
    const faults: string[] = [];
    const records = new Map<string, string>();
    for (const [path, content] of view) {
      const [, id = ''] = TRASH.exec(path) ?? [];
      // One that is marked as erased counts as none.
      if (id !== '' && path.endsWith('/record.json'))
        records.set(id, String((JSON.parse(content.toString()) as { path: unknown }).path));
    }
    for (const [path, content] of view) {
      const [, id = '', item] = TRASH.exec(path) ?? [];
      if (id !== '' && item === undefined) continue;
      const name = item ?? path.split('/').at(-1) ?? '';
      if (content.toString() !== contentOf(name)) faults.push(`${path} is not whole`);
      const file = this.#files.get(name);
      const isErased = file?.state === 'gone' || file?.pending === 'gone';
      // The record goes first: the rest of what was being erased is swept later.
      if (id !== '' && !records.has(id) && isErased) continue;
      const lost = `without a record: ${path}`;
      const state: State =
        id === '' ? { in: 'source', path } : { in: 'trash', path: records.get(id) ?? lost };
      found.set(name, [...(found.get(name) ?? []), state]);
    }
    for (const file of this.#files.values()) faults.push(...this.#settle(file, found.get(file.name) ?? []));
    for (const name of found.keys()) if (!this.#files.has(name)) faults.push(`${name} comes from nowhere`);
    return faults;
  }

  #settle(file: Tracked, found: readonly State[]): Faults {
    const { state, pending, name, parts } = file;
    const texts = found.map(textOf);
    if (parts !== undefined) {
      // Its last part may have come, and the answer not.
      const wanted = textOf({ in: 'source', path: `${parts.path}/${name}` });
      return texts.join() === '' || texts.join() === wanted ? [] : [`${name} is at ${texts.join()}`];
    }
    if (pending === undefined) {
      const expected = state === 'gone' ? [] : [textOf(state)];
      return texts.join() === expected.join()
        ? []
        : [`${name} should be at ${expected.join() || 'no location'} and is at ${texts.join() || 'none'}`];
    }
    const allowed = [textOf(state), textOf(pending)];
    file.pending = undefined;
    if (texts.some((text) => !allowed.includes(text)) || new Set(texts).size < texts.length)
      return [`${name} was on its way between ${allowed.join(' and ')} and is at ${texts.join() || 'none'}`];
    if (texts.length === 0 && !allowed.includes('gone')) return [`${name} is lost (${allowed.join()})`];
    if (texts.length > 1) {
      this.counts.both += 1;
      this.counts.bothBytes += contentOf(name).length;
    }
    // In both after a crash, where a move gives the new name before it takes the old one.
    const kept = found.find((one) => one !== 'gone' && one.in === 'source') ?? found[0] ?? 'gone';
    file.state = kept;
    this.#extra.push(
      ...found.flatMap((one) => (one !== kept && one !== 'gone' && one.in === 'source' ? [one.path] : [])),
    );
    return [];
  }

  /** Erases one of each two copies that a crash has left. */
  async tidy(client: Client): Promise<void> {
    for (const path of this.#extra.splice(0))
      await client.fileRemove({ path: folderOf(path), name: path.split('/').at(-1) ?? '' });
    const { items } = await client.trashList({});
    for (const { id, name } of items) {
      const state = this.#files.get(name)?.state ?? 'gone';
      if (state === 'gone' || state.in !== 'trash') await client.trashRemove({ id });
    }
  }

  /** Names of all files that lie in the trash. */
  trashed(): string[] {
    return this.#idle((state) => state.in === 'trash').map(({ name }) => name);
  }

  /** Whether every answered change was reported, and those of each file in their order. */
  checkEvents(received: readonly { readonly type: string; readonly path: string }[]): Faults {
    const heard = new Map<string, string[]>();
    for (const { type, path } of received) {
      const name = path.split('/').at(-1) ?? '';
      heard.set(name, [...(heard.get(name) ?? []), `${type} ${path}`]);
    }
    return [...this.#files.values()].flatMap(({ name, events }) => {
      const all = heard.get(name) ?? [];
      let at = 0;
      for (const event of events) {
        at = all.indexOf(event, at) + 1;
        if (at === 0) return [`${name}: "${event}" was not reported in order: ${all.join(', ')}`];
      }
      return [];
    });
  }
}
