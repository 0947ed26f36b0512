import { NotFoundError, UnsafeNameError, type StowageError } from '../../../errors/errors.ts';
import type { OperationOptions, ReadableStore } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';

/** Names that Windows treats as aliases: trailing dots and blanks, `PRIVAT~1`, streams (`a.txt::$DATA`). */
const WINDOWS_ALIAS = /[. ]$|~\d|:/u;

/** The error for a name that a store reserves: it counts as missing, and cannot be created. */
export const refusedName = (detail: string, isWrite: boolean): StowageError =>
  isWrite ? new UnsafeNameError({ detail }) : new NotFoundError({ detail });

const otherCase = (name: string): string =>
  name.replaceAll(/[a-z]/giu, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );

/**
 * Whether `a` and `A` are different names on the server, detected once by a stat of an existing entry in the
 * other letter case. Until then names count as equal, so that access rules deny too much rather than too
 * little.
 */
export class LetterCase {
  readonly #isRefusal: (error: unknown) => boolean;
  #isSensitive: boolean | undefined;

  /**
   * @param isSensitive the configured value; without it the store detects it
   * @param isRefusal whether the error is a response of the server, which then knows the other name
   */
  constructor(isSensitive: boolean | undefined, isRefusal: (error: unknown) => boolean) {
    this.#isSensitive = isSensitive;
    this.#isRefusal = isRefusal;
  }

  get isSensitive(): boolean {
    return this.#isSensitive ?? false;
  }

  get isKnown(): boolean {
    return this.#isSensitive !== undefined;
  }

  /** Whether the server may treat the name as an alias of another one. */
  isAlias(name: string): boolean {
    return !this.isSensitive && WINDOWS_ALIAS.test(name);
  }

  /**
   * Rejects a path with a name that may be an alias of another one, which access rules would not match.
   * @param tryOut detects letter case with an entry of the store's own; called at most once
   * @throws NotFoundError, for writes UnsafeNameError; as `tryOut`
   */
  async requireOwnNames(
    { segments }: SourcePath,
    isWrite: boolean,
    tryOut: () => Promise<void>,
  ): Promise<void> {
    const hasAlias = (): boolean => segments.some((segment) => this.isAlias(segment));
    if (!hasAlias()) return;
    if (!this.isKnown) await tryOut();
    if (hasAlias()) throw refusedName('a name that may be another one on this server', isWrite);
  }

  /**
   * Detects letter case with an existing path. Costs two requests, none when it is known.
   * @param store finds entries by exactly the given names
   */
  async learn(
    store: Pick<ReadableStore, 'stat'>,
    path: SourcePath,
    options: OperationOptions,
  ): Promise<void> {
    const name = otherCase(path.name);
    if (this.isKnown || name === path.name) return;
    const other = path.parent.below(name);
    try {
      const [seen, alias] = [await store.stat(path, options), await store.stat(other, options)];
      // Two different files: this name shows nothing.
      if (seen.kind === alias.kind && isSameVersion(seen, alias)) this.#isSensitive = false;
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof NotFoundError)) {
        if (this.#isRefusal(error)) this.#isSensitive = false;
        return;
      }
      // Only valid if the entry still exists under its own name.
      if (await store.stat(path, options).catch(() => undefined)) this.#isSensitive = true;
    }
  }
}
