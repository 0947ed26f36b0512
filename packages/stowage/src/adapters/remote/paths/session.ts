import { forEachAtOnce } from '../../../basics/concurrency/queues.ts';
import { isStale, isTempName, type Leftover } from '../core/temporary.ts';
import type { EntryKind, Stat } from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import {
  type ErrorsByCode,
  ifMissing,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
} from '../../../errors/errors.ts';
import { SilenceError } from '../core/connections.ts';

/** What lies at a path, itself and never what it points to. `other`: links, pipes and the like. */
export type Found = Omit<Stat, 'kind'> & { readonly kind: EntryKind | 'other' };

/** What is said of the root. */
export const ROOT: Found = folderNamed('');

/** An entry as the server lists it. */
export interface ListedEntry {
  /** As the server has it; what is not text has lost its bytes. */
  readonly written: string;
  readonly found: Found;
}

/** From one name to another. */
export interface Names {
  readonly from: SourcePath;
  readonly to: SourcePath;
}

/** Where the root of a store lies on its server. */
export interface Base {
  /** The real path of its directory. */
  readonly directory: string;
  /** Folders below it, which may be missing. */
  readonly prefix: readonly string[];
}

/** The path on the server of what lies below a root. */
export const pathOn = ({ directory, prefix }: Base, segments: readonly string[]): string =>
  [directory.replace(/\/$/u, ''), ...prefix, ...segments].join('/') || '/';

/**
 * The requests of one operation, by a protocol that names files and folders by paths. What only looks is
 * given up when the signal aborts; what changes something is waited for, because the server goes on with it.
 * All throw errors of ours.
 */
export interface PathSession {
  /** The same, for what must be done also after the signal has aborted. */
  unbound(): PathSession;
  /** The path on the server. */
  pathOf(path: SourcePath): string;
  /** What lies at a path, as far as all folders on the way are seen to be folders and no links. */
  look(path: SourcePath): Promise<Found | undefined>;
  /**
   * What lies at a path on the server itself, whatever listings say of it; its parent is known to be a folder.
   */
  kindAt(path: SourcePath, whole: string): Promise<Found['kind'] | undefined>;
  /** All entries of a folder, as the server has them. Nothing else is sent before the last one. */
  entries(folder: SourcePath, whole?: string): AsyncIterable<readonly ListedEntry[]>;
  /** @throws AlreadyExistsError when anything has the name */
  mkdir(path: SourcePath): Promise<void>;
  /** Removes a folder that holds nothing: the server decides. */
  rmdir(path: SourcePath, whole?: string): Promise<void>;
  /** Removes a file, or a link itself. */
  unlink(path: SourcePath, whole?: string): Promise<void>;
  /** Gives a name that nothing is known to have. */
  rename(names: Names): Promise<void>;
}

/** Whether a listed name stands for one entry of its folder. No server should send another. */
export const isEntryName = (name: string): boolean =>
  !/[/\0]/u.test(name) && name !== '' && !/^\.\.?$/u.test(name);

/** A name that the server has in other bytes than UTF-8 cannot be said back to it. */
export const isSayable = (name: string): boolean => !name.includes('\uFFFD');

/** The number that a server has refused with; undefined for what is not a refusal. */
export const refusalOf = (error: unknown): number | undefined => {
  const cause = error instanceof StowageError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

/**
 * Our error for one of a library or of a socket. Ours pass as they are.
 * @param meanings of the numbers of the protocol that mean more than a failure
 * @param asked what was asked of the server, for the log: never a host
 */
export const errorOfRefusal = (
  meanings: ErrorsByCode<number>,
  asked: string,
  error: unknown,
): StowageError => {
  if (error instanceof StowageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const facts = { detail: `${asked}: ${text}`, cause: error };
  if (error instanceof SilenceError) return new StorageTimeoutError(facts);
  return new (meanings.get(refusalOf(error)) ?? StorageUnavailableError)(facts);
};

const TOGETHER = 16;

/**
 * Removes a folder by its path on the server, with all it holds: links themselves, never what they lead to. Others may
 * remove the same.
 * Each folder is looked at before it is entered, because some servers list a link as what it leads to.
 * Memory: the names in one folder and those above it.
 */
export const removeTree = async (session: PathSession, path: SourcePath, whole: string): Promise<void> => {
  if ((await session.kindAt(path, whole)) !== 'folder') return session.unlink(path, whole);
  const [folders, others]: [string[], string[]] = [[], []];
  for await (const page of session.entries(path, whole))
    for (const { written, found } of page)
      if (isEntryName(written)) (found.kind === 'folder' ? folders : others).push(`${whole}/${written}`);
  await forEachAtOnce(TOGETHER, others, (below) => session.unlink(path, below).catch(ifMissing));
  for (const below of folders) await removeTree(session, path, below).catch(ifMissing);
  await session.rmdir(path, whole);
};

/** Removes something temporary; whether it is gone. Where a link stands in its way, nothing is done. */
export const removeTemporary = async (session: PathSession, { path, kind }: Leftover): Promise<boolean> => {
  const found = await session.look(path);
  if (found === undefined) return true;
  if (kind === 'file' || found.kind !== 'folder') await session.unlink(path);
  else await removeTree(session, path, session.pathOf(path));
  return true;
};

/** What a killed process has left in a folder long ago. */
export const staleIn = async (session: PathSession, folder: SourcePath): Promise<readonly Leftover[]> => {
  const stale: Leftover[] = [];
  for await (const page of session.entries(folder))
    for (const { written, found } of page)
      if (isTempName(written) && isStale(written, found.modifiedAt, undefined))
        stale.push({ path: folder.below(written), kind: found.kind === 'folder' ? 'folder' : 'file' });
  return stale;
};
