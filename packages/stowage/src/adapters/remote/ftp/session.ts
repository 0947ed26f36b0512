import type { Spellings } from '../../support/spellings.ts';
import { AlreadyExistsError, NotFoundError, StorageDeniedError } from '../../../errors/errors.ts';
import {
  type Base,
  type Found,
  type ListedEntry,
  type Names,
  type PathSession,
  pathOn,
  ROOT,
} from '../paths/session.ts';
import { lengthOf } from '../core/http.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { Commands, type Entered } from './requests.ts';
import type { FtpConnection, Part, Received } from './connection.ts';
import { codeOf, isFinalRefusal, isPlainRefusal } from './errors.ts';
import { createListings, type Dialect, foundFrom, shownByStat, showsLink, timeIn } from './list.ts';

const FILE: Found = { ...ROOT, kind: 'file' };

const nameOf = (whole: string): string => whole.slice(whole.lastIndexOf('/') + 1);
const parentOf = (whole: string): string => whole.slice(0, whole.lastIndexOf('/')) || '/';

export interface SessionContext {
  readonly base: Base;
  readonly spellings: Spellings;
  readonly dialect: Dialect;
}

/** One operation on files and folders, on a connection that no other operation uses. */
export class Session implements PathSession {
  readonly #commands: Commands;
  readonly #context: SessionContext;
  readonly #listings: ReturnType<typeof createListings>;

  constructor(commands: Commands, context: SessionContext) {
    this.#listings = createListings(commands, context.dialect);
    this.#commands = commands;
    this.#context = context;
  }

  get connection(): FtpConnection {
    return this.#commands.connection;
  }

  unbound(): Session {
    return new Session(new Commands(this.connection, undefined), this.#context);
  }

  pathOf(path: SourcePath): string {
    const { base, spellings } = this.#context;
    return pathOn(base, spellings.segmentsOf(path));
  }

  /**
   * A link in the path is detected by the server's name for the folder after CWD, and a link to a file by
   * STAT, where the server shows links at all.
   */
  async lookUp(path: SourcePath): Promise<Found | undefined> {
    const whole = this.pathOf(path);
    if (path.isRoot) return (await this.#commands.enter(whole)) === 'real' ? ROOT : undefined;
    const { hasFacts } = this.#context.dialect;
    // Without facts, entering the folder shows its kind and saves a listing of its parent.
    const entered = hasFacts ? 'closed' : await this.#commands.enter(whole);
    const folder = { ...ROOT, name: path.name };
    const found = entered === 'closed' ? await this.#lookAt(whole, path) : folder;
    if (found?.kind === 'folder') {
      const reached = hasFacts ? await this.#commands.enter(whole) : entered;
      if (reached === 'real') return found;
      // The login may lack the permission to enter it.
      if ((await this.#enterParent(whole)) !== 'real') return undefined;
      return { ...found, kind: reached === 'link' ? 'other' : 'folder' };
    }
    if (found === undefined || (await this.#enterParent(whole)) !== 'real') return undefined;
    return found.kind === 'file' && (await this.#isLink(whole, path)) ? { ...found, kind: 'other' } : found;
  }

  /** A folder that the login may not enter looks like a real one; it cannot be emptied either. */
  async kindAt(_path: SourcePath, whole: string): Promise<Found['kind']> {
    return (await this.#commands.enter(whole)) === 'link' ? 'other' : 'folder';
  }

  async *entries(
    folder: SourcePath,
    whole?: string,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    // For the removal of a folder tree: some servers list links as their targets.
    const links = whole === undefined ? new Set() : await this.#listings.links(folder, whole);
    for await (const page of await this.list(folder, whole))
      yield page.map((entry) =>
        links.has(entry.written) ? { ...entry, found: { ...entry.found, kind: 'other' } } : entry,
      );
  }

  /** Lists a folder. The connection is free before the first page is read. */
  async list(
    folder: SourcePath,
    whole = this.pathOf(folder),
  ): Promise<AsyncIterable<readonly ListedEntry[]>> {
    if ((await this.#commands.enter(whole)) !== 'real')
      throw new NotFoundError({ detail: 'no folder, or behind a link' });
    return this.#needing(whole, () => this.#listings.entries(folder));
  }

  /** Downloads a file. @throws NotFoundError for one that was removed after the lookup */
  retrieve(path: SourcePath, part: Part): Promise<Received> {
    const whole = this.pathOf(path);
    return this.#needing(whole, () => this.#commands.receive(path, whole, part));
  }

  /** Stores content; returns its length in bytes. @throws errors of the content */
  store(path: SourcePath, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    const whole = this.pathOf(path);
    return this.#needing(parentOf(whole), () => this.#commands.store(path, whole, chunks));
  }

  /** The server's metadata of a file that was just stored; undefined where it is missing. */
  async stored(path: SourcePath): Promise<Found | undefined> {
    const whole = this.pathOf(path);
    if (this.#context.dialect.hasFacts) return this.#lookAt(whole, path);
    const size = await this.#sizeOf(whole);
    if (size === undefined) return this.#lookInList(whole, path);
    return { ...FILE, name: path.name, size, modifiedAt: await this.#timeOf(whole) };
  }

  /** Whether a file has the name, by another command than those of `lookUp`. */
  async isFile(path: SourcePath): Promise<boolean> {
    return (await this.#sizeOf(this.pathOf(path))) !== undefined;
  }

  async mkdir(path: SourcePath): Promise<void> {
    try {
      const whole = this.pathOf(path);
      await this.#needing(parentOf(whole), () => this.#commands.change(path, `MKD ${whole}`));
    } catch (error) {
      if (isPlainRefusal(error) && (await this.lookUp(path)) !== undefined)
        throw new AlreadyExistsError({ cause: error });
      throw error;
    }
  }

  async unlink(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    await this.#needing(whole, () => this.#commands.change(path, `DELE ${whole}`));
  }

  async rmdir(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    try {
      await this.#needing(whole, () => this.#commands.change(path, `RMD ${whole}`));
    } catch (error) {
      if (!isPlainRefusal(error)) throw error;
      let seen = 0;
      for await (const page of this.entries(path, whole)) seen += page.length;
      if (seen > 0) throw error;
      throw new StorageDeniedError({ detail: 'the server keeps an empty folder' });
    }
  }

  async rename({ from, to }: Names): Promise<void> {
    const [whole, target] = [this.pathOf(from), this.pathOf(to)];
    await this.#needing(parentOf(target), () =>
      this.#needing(whole, () => this.#commands.change(from, `RNFR ${whole}`, `RNTO ${target}`)),
    );
  }

  #enterParent(whole: string): Promise<Entered> {
    return this.#commands.enter(parentOf(whole));
  }

  /** The entry at a path, or the target of a link there. */
  async #lookAt(whole: string, path: SourcePath): Promise<Found | undefined> {
    const { dialect } = this.#context;
    if (!dialect.hasFacts) return this.#lookInList(whole, path);
    try {
      const reply = await this.#commands.reply(`MLST ${whole}`);
      const [, facts] = /\n ?(\S*) /u.exec(reply?.message ?? '') ?? [];
      // A response for a folder may call it the requested one (`cdir`).
      const found =
        facts === undefined ? undefined : foundFrom(facts.replace(/\btype=[cp]dir\b/iu, 'type=dir'));
      return found === undefined ? undefined : { ...found, name: path.name };
    } catch (error) {
      if (!(await this.#commands.isUnknown('MLST', error))) throw error;
      dialect.hasFacts = false;
      return this.#lookInList(whole, path);
    }
  }

  /** Finds a file by STAT and SIZE, where the server supports them; other entries by listing their folder. */
  async #lookInList(whole: string, path: SourcePath): Promise<Found | undefined> {
    if ((await this.#enterParent(whole)) !== 'real') return undefined;
    const size = (await this.#statOf(whole)) === 'no link' ? await this.#sizeOf(whole) : undefined;
    const found = size === undefined ? await this.#listed(whole, path) : { ...FILE, size };
    if (found === undefined) return undefined;
    const modifiedAt = found.kind === 'file' ? await this.#timeOf(whole) : undefined;
    return { ...found, name: path.name, modifiedAt };
  }

  async #listed(whole: string, path: SourcePath): Promise<Found | undefined> {
    let found: Found | undefined;
    for await (const page of await this.#listings.entries(path.parent))
      found ??= page.find(({ written }) => written === nameOf(whole))?.found;
    return found;
  }

  async #sizeOf(whole: string): Promise<number | undefined> {
    return lengthOf((await this.#commands.replyIfKnown(`SIZE ${whole}`))?.message.slice(4).trim());
  }

  async #timeOf(whole: string): Promise<number | undefined> {
    return timeIn((await this.#commands.replyIfKnown(`MDTM ${whole}`))?.message.slice(4).trim());
  }

  /**
   * Whether STAT, which is LIST on the control connection, shows a link. STAT treats names as patterns: where
   * it shows only other names, the folder is listed.
   */
  async #isLink(whole: string, path: SourcePath): Promise<boolean> {
    // The listing has already shown links.
    if (!this.#context.dialect.hasFacts) return false;
    const shown = await this.#statOf(whole);
    if (shown !== 'others') return shown === 'link';
    const name = nameOf(whole);
    return (await this.#listings.lines(path.parent)).some((line) => showsLink(line, name));
  }

  async #statOf(whole: string): Promise<ReturnType<typeof shownByStat>> {
    const { dialect } = this.#context;
    if (!dialect.hasStat) return 'nothing';
    try {
      const reply = await this.#commands.reply(`STAT ${whole}`);
      return shownByStat(reply?.message ?? '', [whole, nameOf(whole)]);
    } catch (error) {
      // Some servers respond like this when there is no such entry.
      if (codeOf(error) === 450) return 'nothing';
      if (!(await this.#commands.isUnknown('STAT', error))) throw error;
      dialect.hasStat = false;
      return 'nothing';
    }
  }

  /** Runs work that needs a file or folder. @throws NotFoundError for a rejection when it is missing now */
  async #needing<T>(whole: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isPlainRefusal(error)) throw error;
      for (const asked of this.#context.dialect.hasFacts ? ['MLST', 'CWD'] : ['CWD', 'SIZE', 'MDTM'])
        if (!(await this.connection.command(`${asked} ${whole}`).then(() => false, isFinalRefusal)))
          throw error;
      throw new NotFoundError({ cause: error });
    }
  }
}
