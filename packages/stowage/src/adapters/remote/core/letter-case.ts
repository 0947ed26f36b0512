import { NotFoundError, StorageDeniedError, type StowageError } from '../../../errors/errors.ts';
import type { OperationOptions, Stat } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';

/** On Windows other names of a file: trailing dots and blanks, `PRIVAT~1`, streams (`a.txt::$DATA`). */
const WINDOWS_ALIAS = /[. ]$|~\d|:/u;

/** The error for a name that a store keeps from its users: nothing is seen to be there, and it is not given. */
export const refusedName = (detail: string, isWrite: boolean): StowageError =>
  isWrite ? new StorageDeniedError({ detail }) : new NotFoundError({ detail });

const otherCase = (name: string): string =>
  name.replaceAll(/[a-z]/giu, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );

/** Looks at entries of a store, by the very names that it is given. */
interface Looks {
  /** @throws NotFoundError */
  stat(path: SourcePath, options: OperationOptions): Promise<Stat>;
}

/**
 * Whether `a` and `A` are two names on the server, found out once by asking for something that is there in
 * the other letter case. Until it is known names count as one, so that access rules deny too much rather than
 * too little.
 */
export class LetterCase {
  readonly #isRefusal: (error: unknown) => boolean;
  #isSensitive: boolean | undefined;

  /**
   * @param isSensitive where the options say so, nothing is asked
   * @param isRefusal whether the server has answered with that error: it knows the other name, then
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

  /** Whether the server may take a name for another one. */
  isAlias(name: string): boolean {
    return !this.isSensitive && WINDOWS_ALIAS.test(name);
  }

  /**
   * Refuses a path with a name that the server may take for another one: access rules would not meet it.
   * @param tryOut finds out about letter case with something of the store's own; asked for at most once
   * @throws NotFoundError, for writes StorageDeniedError; as `tryOut`
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

  /** Tries it on a path where something was just seen. Costs two requests, and none when it is known. */
  async learn(store: Looks, path: SourcePath, options: OperationOptions): Promise<void> {
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
      // Only when it is still there under its own name.
      if (await store.stat(path, options).catch(() => undefined)) this.#isSensitive = true;
    }
  }
}
