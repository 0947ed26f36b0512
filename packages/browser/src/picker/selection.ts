import { type Entry, keyOf } from './service.ts';

/** The selected entries, by name and not by index: listings change. */
export class Selection {
  readonly #entries = new Map<string, Entry>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get size(): number {
    return this.#entries.size;
  }

  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  has(entry: Entry): boolean {
    return this.#entries.has(keyOf(entry));
  }

  set(entries: readonly Entry[]): void {
    this.#entries.clear();
    for (const entry of entries) this.#entries.set(keyOf(entry), entry);
    this.#changed();
  }

  toggle(entry: Entry): void {
    const key = keyOf(entry);
    if (!this.#entries.delete(key)) this.#entries.set(key, entry);
    this.#changed();
  }

  drop(entries: readonly Entry[]): void {
    const dropped = entries.filter((entry) => this.#entries.delete(keyOf(entry)));
    if (dropped.length > 0) this.#changed();
  }

  clear(): void {
    if (this.#entries.size > 0) this.set([]);
  }

  /** Updates selected entries from a newer listing. If that is whole, others no longer exist. */
  refresh(listed: readonly Entry[], isWhole = false): void {
    const known = listed.filter((entry) => this.has(entry));
    if (isWhole && known.length < this.size) this.set(known);
    else for (const entry of known) this.#entries.set(keyOf(entry), entry);
  }
}
