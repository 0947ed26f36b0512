import { decomposed } from '../../storage/decomposed.ts';
import { isSegment } from '../../storage/source-path.ts';

/** Begins the name of everything that this adapter puts into a root for itself. */
export const TEMP_PREFIX = '.stowage-tmp';

// Printable ASCII without slash and backslash: by far most names, and valid at a glance unless they begin with a dot.
const PLAIN = /^[ -.0-[\]-~]{1,255}$/u;

/**
 * Whether a name is reserved for the adapter's own temporary files, at any depth. Compared as the most forgiving file system would: without
 * case, width and invisible characters.
 */
export const isReserved = (name: string): boolean => {
  if (PLAIN.test(name) && !name.startsWith('.')) return false;
  const folded = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return folded.toLowerCase().startsWith(TEMP_PREFIX);
};

/**
 * Whether a name may also lie on the disk partly composed and partly decomposed, as some keyboards write Vietnamese: two of its letters, or
 * two marks of one, can come apart.
 */
export const hasMixedSpellings = (name: string): boolean =>
  (decomposed(name) ?? name).length - name.length > 1;

/** Makes the test whether a name on disk is a partly decomposed spelling of this name: mostly decided by its length alone. */
export const mixedSpellingOf = (name: string): ((raw: string) => boolean) => {
  const longest = name.normalize('NFD').length;
  return (raw) => raw.length > name.length && raw.length < longest && raw.normalize('NFC') === name;
};

/**
 * What a name on disk is shown as: itself, or composed where it is stored decomposed, wholly or in part. Undefined for names that no path
 * can hold, that are reserved, or that could not be found again.
 */
export const visibleName = (raw: string): string | undefined => {
  if (PLAIN.test(raw) && !raw.startsWith('.')) return raw;
  const name = raw.normalize('NFC');
  if (!isSegment(name) || isReserved(name)) return undefined;
  return name === raw || name.normalize('NFD') === raw || mixedSpellingOf(name)(raw) ? name : undefined;
};

/** A name as it lies on disk and as it is shown. */
export interface SeenName {
  readonly raw: string;
  readonly name: string;
}

/**
 * The names of a folder that can be shown. Where several spellings of one name lie side by side it is the one that a path reaches: the
 * composed, else the decomposed, else the first of the others.
 */
export const visibleNames = (raws: readonly string[]): SeenName[] => {
  const seen: SeenName[] = [];
  const mixed = new Map<string, string>();
  let all: ReadonlySet<string> | undefined;
  for (const raw of raws) {
    const name = visibleName(raw);
    if (name === undefined) continue;
    if (name !== raw) {
      all ??= new Set(raws);
      if (all.has(name)) continue;
      const whole = name.normalize('NFD');
      if (raw !== whole) {
        const other = mixed.get(name);
        if (!all.has(whole) && (other === undefined || raw < other)) mixed.set(name, raw);
        continue;
      }
    }
    seen.push({ raw, name });
  }
  for (const [name, raw] of mixed) seen.push({ raw, name });
  return seen;
};
