import type { SourcePath } from '../../storage/source-path.ts';

const MOST = 10_000;

/**
 * How entries are written on the server whose names are not composed there; paths always are. Remembers the last 10,000; what is forgotten
 * is found again by listings, or by asking for the decomposed name.
 */
export class Spellings {
  readonly #written = new Map<string, string>();

  /** The name that an entry has on the server, where it is known to be another one than the path's. */
  get(path: SourcePath): string | undefined {
    return this.#written.get(path.toString());
  }

  note(path: SourcePath, written: string): void {
    this.forget(path);
    if (written === path.name) return;
    const [oldest] = this.#written.keys();
    if (this.#written.size >= MOST && oldest !== undefined) this.#written.delete(oldest);
    this.#written.set(path.toString(), written);
  }

  forget(path: SourcePath): void {
    this.#written.delete(path.toString());
  }

  /** The segments of a path as the server has them, as far as that is known. */
  segmentsOf({ segments }: SourcePath): readonly string[] {
    if (this.#written.size === 0) return segments;
    return segments.map(
      (segment, index) => this.#written.get(segments.slice(0, index + 1).join('/')) ?? segment,
    );
  }
}
