import { decomposed } from '../../adapter-support/decomposed.ts';
import { isSegment } from '../../storage/source-path.ts';

/** Begins the name of everything that this adapter puts into a root for itself. */
export const TEMP_PREFIX = '.stowage-tmp';

/** Names of temporary files that an instance put beside their targets begin with it. */
export const besidePrefix = (instance: string): string => `${TEMP_PREFIX}-${instance}-`;

// Printable ASCII without slash and backslash: by far most names, and valid at a glance unless they begin
// with a dot.
const PLAIN = /^[ -.0-[\]-~]{1,255}$/u;

/**
 * Whether a name is reserved for the adapter's own temporary files, at any depth. Compared as the most
 * forgiving file system would: without case, width and invisible characters.
 */
export const isReserved = (name: string): boolean => {
  if (PLAIN.test(name) && !name.startsWith('.')) return false;
  const folded = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return folded.toLowerCase().startsWith(TEMP_PREFIX);
};

/** Whether a name can be shown and reached as it is. */
export const isVisible = (name: string): boolean =>
  (PLAIN.test(name) && !name.startsWith('.')) ||
  (name.normalize('NFC') === name && isSegment(name) && !isReserved(name));

/** A name as it lies on disk and as it is shown. */
export interface SeenName {
  readonly raw: string;
  readonly name: string;
}

/**
 * Decides about the names of one folder, as they are read, what is shown. Names lie on disk composed or whole in
 * decomposed letters, and are shown composed; memory grows with the number of those that are not composed there.
 */
export class NameFilter {
  readonly #respelled: SeenName[] = [];
  #omitted = 0;

  /** Names so far that are left out: no path can hold them, or they are decomposed only in part. */
  get omitted(): number {
    return this.#omitted;
  }

  /**
   * Counts an entry that is left out for another reason: a link, a special file, a name of bytes that are not
   * text.
   */
  omit(count = 1): void {
    this.#omitted += count;
  }

  /**
   * The name to be shown; undefined when it is left out, or waits for the end because its composed form may
   * be there too.
   */
  take(raw: string): SeenName | undefined {
    if (PLAIN.test(raw) && !raw.startsWith('.')) return { raw, name: raw };
    const name = raw.normalize('NFC');
    if (isReserved(name)) return undefined;
    if (name === raw && isSegment(name)) return { raw, name };
    if (raw === decomposed(name) && isSegment(name)) this.#respelled.push({ raw, name });
    else this.#omitted += 1;
    return undefined;
  }

  /**
   * The names that have waited, once all others were taken. They are shown unless their composed form is
   * there.
   */
  rest(): readonly SeenName[] {
    return this.#respelled;
  }
}
