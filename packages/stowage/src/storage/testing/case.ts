import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { StorageAdapter, Entry, ListOptions, Stat, WriteOptions } from '../adapter.ts';
import type { CapabilityName, StorageCapabilities } from '../capabilities.ts';
import { SourcePath } from '../source-path.ts';
import { StowageError } from '../../errors/errors.ts';
import { walkFolder } from '../folders.ts';

/** A fresh, empty store for one case. */
export interface StoreUnderTest {
  readonly adapter: StorageAdapter;
  /** Removes the store, after every case and the adapter's own `close`, also after a failure. */
  readonly cleanup?: () => Promise<void> | void;
  /**
   * Creates a file in the backend without the adapter, with a raw name in the root folder or, after a slash,
   * in an existing folder: `evil\name`, `folder/evil\name`, a name with a control character. Needed when the
   * options say that the backend can hold such names.
   */
  readonly plant?: (rawName: string) => Promise<void>;
  /** Opens the same store again, as a second process would: both race for new names. The suite closes it. */
  readonly another?: () => Promise<StorageAdapter> | StorageAdapter;
}

/** Promises of a store beyond the contract. */
export type StorePromises = Partial<StorageCapabilities>;

export interface CaseContext {
  readonly adapter: StorageAdapter;
  /** The same store, opened a second time where `another` is given. */
  readonly other: StorageAdapter;
  readonly promises: Readonly<Record<CapabilityName, boolean>>;
  /** The promises in the options of the suite, before those of the store are added. */
  readonly declared: StorePromises;
  readonly plant: (rawName: string) => Promise<void>;
  readonly at: (text: string) => SourcePath;
}

/** One sentence of the contract, with its check. */
export interface CaseDefinition {
  readonly name: string;
  /** The case needs `plant`. */
  readonly plants?: true;
  /** The case uses a second instance of the store, where there is one. */
  readonly races?: true;
  /** The case tests this capability. */
  readonly needs?: CapabilityName;
  /** Rejects when the store violates the sentence. */
  readonly check: (context: CaseContext) => Promise<void>;
}

/** Defines a case for every store. */
export const it = (name: string, check: CaseDefinition['check']): CaseDefinition => ({ name, check });

/** The cases of one part of the contract. */
export interface Theme {
  readonly theme: string;
  readonly cases: readonly CaseDefinition[];
}

export const theme = (name: string, cases: readonly CaseDefinition[]): Theme => ({ theme: name, cases });

/** Bytes that differ between positions and seeds, so that swapped, missing or shifted bytes are detected. */
export const makeBytes = (length: number, seed = 1): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
};

/** Content of these bytes, in chunks of the size that networks deliver. */
export const contentOf = (bytes: Uint8Array | string, chunkBytes = 16 * 1024): Readable => {
  const whole = Buffer.from(bytes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += chunkBytes) pieces.push(whole.subarray(at, at + chunkBytes));
  return Readable.from(pieces, { objectMode: false });
};

const contentThen = (bytes: Buffer, goOn: (stream: Readable) => void): Readable => {
  const chunks = [bytes];
  return new Readable({
    read() {
      const chunk = chunks.pop();
      if (chunk === undefined) goOn(this);
      else this.push(chunk);
    },
  });
};

/** Content that yields the bytes and then fails. */
export const failingContent = (bytes: Buffer, error: Error): Readable =>
  contentThen(bytes, (stream) => stream.destroy(error));

/** Content that yields the bytes and then stalls without ending. */
export const endlessContent = (bytes: Buffer): Readable => contentThen(bytes, () => undefined);

export const put = (
  adapter: StorageAdapter,
  path: SourcePath,
  bytes: Uint8Array | string,
  options?: WriteOptions,
): Promise<Stat> => adapter.write(path, contentOf(bytes), options);

/** The bytes of a file, by a read without options. */
export const bytesAt = async (adapter: StorageAdapter, path: SourcePath): Promise<Buffer> =>
  buffer((await adapter.read(path)).stream);

/** Fails unless the file holds exactly these bytes. */
export const expectBytes = async (
  adapter: StorageAdapter,
  path: SourcePath,
  bytes: Uint8Array | string,
): Promise<void> => {
  const found = await bytesAt(adapter, path);
  assert.ok(
    found.equals(Buffer.from(bytes)),
    `"${path.toString()}" holds other bytes than expected (${found.length})`,
  );
};

type ErrorClass = new (...args: never[]) => StowageError;

/** Fails unless it rejects with one of these classes, and without a path of the server. */
export const expectError = async (
  promise: Promise<unknown>,
  ...classes: readonly [ErrorClass, ...ErrorClass[]]
): Promise<void> => {
  const names = classes.map((errorClass) => errorClass.name).join(' or ');
  const outcome = await promise.then(
    () => assert.fail(`expected ${names}, but the operation succeeded`),
    (error: unknown) => error,
  );
  if (outcome instanceof assert.AssertionError) throw outcome;
  assert.ok(
    classes.some((errorClass) => outcome instanceof errorClass),
    `expected ${names}, got ${outcome instanceof Error ? `${outcome.name}: ${outcome.message}` : String(outcome)}`,
  );
  if (outcome instanceof StowageError) {
    for (const message of outcome.messages)
      assert.doesNotMatch(message, /\/|\\/u, 'the public message contains a path');
  }
};

/** Fails unless the promise rejects with exactly this reason. */
export const expectReason = async (promise: Promise<unknown>, reason: unknown): Promise<void> => {
  const outcome: unknown = await promise.then(
    () => assert.fail('expected the reason of the signal, but the operation succeeded'),
    (error: unknown) => error,
  );
  assert.equal(outcome, reason, 'the operation did not reject with the reason of the signal');
};

/** Fails unless all rejected outcomes of a race have an error of this class. */
export const expectLosers = async (
  outcomes: readonly PromiseSettledResult<unknown>[],
  errorClass: ErrorClass,
): Promise<void> => {
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') await expectError(Promise.reject(outcome.reason as Error), errorClass);
};

/** Fails unless an operation that is aborted after this time rejects with the reason of its signal. */
export const expectAbort = async (
  milliseconds: number,
  operation: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> => {
  const abort = new AbortController();
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), milliseconds);
  await expectReason(operation(abort.signal), reason);
};

export const entriesOf = async (
  adapter: StorageAdapter,
  folder: SourcePath = SourcePath.root,
  options?: ListOptions,
): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  for await (const page of adapter.list(folder, options)) entries.push(...page);
  return entries;
};

export const namesIn = async (adapter: StorageAdapter, folder?: SourcePath): Promise<readonly string[]> =>
  (await entriesOf(adapter, folder)).map((entry) => entry.name).sort();

const digestOf = (bytes: Buffer): string =>
  `${bytes.length}-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`;

/** All visible contents of the store, sorted: `path/` for a folder, `path:digest` for a file. */
export const snapshotOf = async (adapter: StorageAdapter): Promise<readonly string[]> => {
  const seen: string[] = [];
  for await (const { path, entry } of walkFolder(adapter, SourcePath.root)) {
    const content = entry.kind === 'file' ? `:${digestOf(await bytesAt(adapter, path))}` : '/';
    seen.push(`${path.toString()}${content}`);
  }
  return seen.sort();
};

/** The lines of a snapshot below a folder, with paths relative to it. */
export const below = (snapshot: readonly string[], folder: string): readonly string[] =>
  snapshot.filter((line) => line.startsWith(`${folder}/`)).map((line) => line.slice(folder.length));

/** Fails when `operation` changes the visible contents of the store. */
export const expectUnchanged = async (
  adapter: StorageAdapter,
  operation: () => Promise<unknown>,
): Promise<void> => {
  const before = await snapshotOf(adapter);
  await operation();
  assert.deepEqual(await snapshotOf(adapter), before, 'the store has changed');
};
