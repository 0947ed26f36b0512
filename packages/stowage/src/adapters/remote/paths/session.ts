import { forEachAtOnce } from '../../../basics/concurrency/queues.ts';
import { isStale, isTempName, type Leftover } from '../core/temporary.ts';
import type { EntryKind, Stat } from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import * as errors from '../../../errors/errors.ts';
import { SilenceError } from '../core/connections.ts';

/** The entry at a path itself, links not followed. `other`: links, pipes and similar. */
export type Found = Omit<Stat, 'kind'> & { readonly kind: EntryKind | 'other' };

export const ROOT: Found = folderNamed('');

export interface ListedEntry {
  /** Name as the server has it; invalid UTF-8 has been replaced. */
  readonly written: string;
  readonly found: Found;
}

/** Old and new path of an operation. */
export interface Names {
  readonly from: SourcePath;
  readonly to: SourcePath;
}

/** Location of a store's root on its server. */
export interface Base {
  /** The real path of its directory. */
  readonly directory: string;
  /** Folders below it, which may be missing. */
  readonly prefix: readonly string[];
}

/** The error for a missing directory. NotFoundError would become the response to the client's first request. */
export const missingRoot = (cause?: unknown): errors.StorageUnavailableError =>
  new errors.StorageUnavailableError({ detail: 'the directory of the source is missing', cause });

/** The path on the server of an entry below the root. */
export const pathOn = ({ directory, prefix }: Base, segments: readonly string[]): string =>
  [directory.replace(/\/$/u, ''), ...prefix, ...segments].join('/') || '/';

/**
 * The requests of one operation, for protocols that address files and folders by paths. When the signal
 * aborts, reading requests are abandoned; changing ones are waited for, because the server continues with
 * them. All throw StowageErrors.
 */
export interface PathSession {
  /** The same session without the signal, for cleanup after an abort. */
  unbound(): PathSession;
  pathOf(path: SourcePath): string;
  /** The entry at a path, if all its parents are folders and not links. */
  lookUp(path: SourcePath): Promise<Found | undefined>;
  /** The kind of an entry on the server itself, whatever listings show; its parent must be a real folder. */
  kindAt(path: SourcePath, whole: string): Promise<Found['kind'] | undefined>;
  /** All entries of a folder, as the server has them. No other request is sent before the last one. */
  entries(folder: SourcePath, whole?: string): AsyncIterable<readonly ListedEntry[]>;
  /** @throws AlreadyExistsError when an entry has the name */
  mkdir(path: SourcePath): Promise<void>;
  /** Removes an empty folder: the server decides. */
  rmdir(path: SourcePath, whole?: string): Promise<void>;
  /** Removes a file, or a link itself. */
  unlink(path: SourcePath, whole?: string): Promise<void>;
  /** Renames to a name that is believed to be free. */
  rename(names: Names): Promise<void>;
}

/** Whether a listed name is that of a single entry in the folder. A correct server lists no other. */
const isEntryName = (name: string): boolean => !/[/\0]/u.test(name) && name !== '' && !/^\.\.?$/u.test(name);

/** A name with bytes that are not UTF-8 cannot be sent to the server. */
export const isSayable = (name: string): boolean => !name.includes('\uFFFD');

/** The code of a rejection by the server; undefined for other errors. */
export const refusalOf = (error: unknown): number | undefined => {
  const cause = error instanceof errors.StowageError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

/**
 * Converts an error of a library or a socket. StowageErrors stay as they are.
 * @param meanings error classes for codes of the protocol
 * @param asked the request, for the log: never a host
 */
export const errorOfRefusal = (
  meanings: errors.ErrorsByCode<number>,
  asked: string,
  error: unknown,
): errors.StowageError => {
  if (error instanceof errors.StowageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const facts = { detail: `${asked}: ${text}`, cause: error };
  if (error instanceof SilenceError) return new errors.StorageTimeoutError(facts);
  return new (meanings.get(refusalOf(error)) ?? errors.StorageUnavailableError)(facts);
};

const TOGETHER = 16;

/**
 * Removes a folder by its path on the server, with all its contents: links themselves, never their targets.
 * Others may remove the same entries. Each folder is checked before it is entered, because some servers list
 * a link as its target. Memory: the names in one folder and its parents.
 */
export const removeTree = async (session: PathSession, path: SourcePath, whole: string): Promise<void> => {
  if ((await session.kindAt(path, whole)) !== 'folder') return session.unlink(path, whole);
  const [folders, others]: [string[], string[]] = [[], []];
  for await (const page of session.entries(path, whole))
    for (const { written, found } of page)
      if (isEntryName(written)) (found.kind === 'folder' ? folders : others).push(`${whole}/${written}`);
  await forEachAtOnce(TOGETHER, others, (below) => session.unlink(path, below).catch(errors.ifMissing));
  for (const below of folders) await removeTree(session, path, below).catch(errors.ifMissing);
  await session.rmdir(path, whole);
};

/** Removes a temporary entry; returns whether it is gone. Does nothing when its path contains a link. */
export const removeTemporary = async (session: PathSession, { path, kind }: Leftover): Promise<boolean> => {
  const found = await session.lookUp(path);
  if (found === undefined) return true;
  if (kind === 'file' || found.kind !== 'folder') await session.unlink(path);
  else await removeTree(session, path, session.pathOf(path));
  return true;
};

/** Old leftovers of killed processes in a folder. */
export const staleIn = async (session: PathSession, folder: SourcePath): Promise<readonly Leftover[]> => {
  const stale: Leftover[] = [];
  for await (const page of session.entries(folder))
    for (const { written, found } of page)
      if (isTempName(written) && isStale(written, found.modifiedAt, undefined))
        stale.push({ path: folder.below(written), kind: found.kind === 'folder' ? 'folder' : 'file' });
  return stale;
};
