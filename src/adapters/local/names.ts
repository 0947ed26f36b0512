import { isSegment } from '../../storage/source-path.ts';

/** Begins the name of everything that this adapter puts into a root for itself. */
export const TEMP_PREFIX = '.stowage-tmp';

// Printable ASCII without slash and backslash: by far most names, and valid at a glance unless they begin with a dot.
const PLAIN = /^[ -.0-[\]-~]{1,255}$/u;

/**
 * Whether a name is reserved for the adapter's own temporary files, at any depth. Compared as the most forgiving file
 * system would: without case, width and invisible characters.
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

/** Whether `raw` rather than `other` is the spelling of `name` that a path reaches: decomposed first, then code-unit order. */
const precedes = (raw: string, other: string, name: string): boolean => {
  const whole = name.normalize('NFD');
  if (raw === whole || other === whole) return raw === whole;
  return raw < other;
};

/**
 * Decides about the names of one folder, as they are read, what is shown. Names are shown composed, however they lie on
 * disk; memory grows with the number of those that are not composed there.
 */
export class NameFilter {
  readonly #respelled = new Map<string, string>();
  #omitted = 0;

  /** Names so far that are left out because no path can hold them, or because they only spell another one differently. */
  get omitted(): number {
    return this.#omitted;
  }

  /** Counts an entry that is left out for another reason: a link, a special file, a name of bytes that are not text. */
  omit(): void {
    this.#omitted += 1;
  }

  /** The name to be shown; undefined when it is left out, or waits for the end because its composed form may be there too. */
  take(raw: string): SeenName | undefined {
    if (PLAIN.test(raw) && !raw.startsWith('.')) return { raw, name: raw };
    const name = raw.normalize('NFC');
    if (isReserved(name)) return undefined;
    if (!isSegment(name)) {
      this.#omitted += 1;
      return undefined;
    }
    if (name === raw) return { raw, name };
    const other = this.#respelled.get(name);
    if (other !== undefined) this.#omitted += 1;
    if (other === undefined || precedes(raw, other, name)) this.#respelled.set(name, raw);
    return undefined;
  }

  /** The names that have waited, once all others were taken. They are shown unless their composed form is there. */
  rest(): readonly SeenName[] {
    return Array.from(this.#respelled, ([name, raw]) => ({ raw, name }));
  }
}
