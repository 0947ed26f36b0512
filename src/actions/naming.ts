import type { SameNameStrategy } from '../config/settings.ts';
import { uploadNames } from '../content/numbered-names.ts';
import { AlreadyExistsError, WrongKindError } from '../errors/errors.ts';
import type { PutOptions, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { isFree, takeFreeName } from './free-name.ts';
import type { NameReservations } from './name-reservations.ts';
import { reservedNames, type ReservingSettings } from './reserved.ts';

/** A file that waits for its name in a folder. */
export interface WantedName {
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  /** The wanted name: sanitised, with an allowed extension, not reserved. */
  readonly name: string;
  readonly strategy: SameNameStrategy;
  readonly settings: ReservingSettings;
  readonly reservations: NameReservations;
  readonly signal: AbortSignal;
}

/** Puts the file at a target: create-only, or over a file that is there. */
export type Put<Stored> = (target: SourcePath, options: Pick<PutOptions, 'createOnly'>) => Promise<Stored>;

/** The refusal of strategy `error`, and of `replace` where a folder has the name. */
export const nameTaken = (name: string, kind: 'file' | 'folder' = 'file'): AlreadyExistsError =>
  new AlreadyExistsError(
    kind === 'file' ? `The file "${name}" already exists.` : `A folder named "${name}" already exists.`,
  );

/** What became of a file. */
export interface StoreOutcome<Stored> {
  readonly stored: Stored;
  /** An older file gave way to it. */
  readonly replaced: boolean;
}

const putOver = async <Stored>(wanted: WantedName, put: Put<Stored>): Promise<StoreOutcome<Stored>> => {
  const target = wanted.folder.child(wanted.name);
  try {
    if (await isFree(wanted, target)) {
      return { stored: await put(target, { createOnly: true }), replaced: false };
    }
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error;
  }
  try {
    return { stored: await put(target, {}), replaced: true };
  } catch (error) {
    throw error instanceof WrongKindError ? nameTaken(wanted.name, 'folder') : error;
  }
};

const putOnce = async <Stored>(
  { folder, name }: WantedName,
  put: Put<Stored>,
): Promise<StoreOutcome<Stored>> => {
  try {
    return { stored: await put(folder.child(name), { createOnly: true }), replaced: false };
  } catch (error) {
    throw error instanceof AlreadyExistsError ? nameTaken(name) : error;
  }
};

const putNumbered = async <Stored>(wanted: WantedName, put: Put<Stored>): Promise<StoreOutcome<Stored>> => {
  const search = { ...wanted, names: uploadNames(wanted.name), isReserved: reservedNames(wanted.settings) };
  return {
    stored: await takeFreeName(search, (target) => put(target, { createOnly: true })),
    replaced: false,
  };
};

/**
 * Puts a file under its name, or under the one that the strategy gives it when the name is taken: `addNumber` the first
 * free variant, `replace` the same (never over a folder), `error` none. What `put` gives comes back. The store's create-only
 * writes decide, so that racing requests never share a name.
 * @throws AlreadyExistsError (400) by strategy `error`, or when a folder has a name to be replaced; whatever else `put` throws
 */
export const storeByStrategy = <Stored>(
  wanted: WantedName,
  put: Put<Stored>,
): Promise<StoreOutcome<Stored>> => {
  switch (wanted.strategy) {
    case 'replace':
      return putOver(wanted, put);
    case 'error':
      return putOnce(wanted, put);
    case 'addNumber':
      return putNumbered(wanted, put);
  }
};
