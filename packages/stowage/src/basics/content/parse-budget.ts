/** Most of each that one input may cost the parsers that read it. */
export interface ParseLimits {
  /** Parts: chunks, segments, entries, elements, rules that are tried. */
  readonly items: number;
  /** Parts inside of each other. */
  readonly depth: number;
  /** Bytes that a parser keeps, copies or looks through once more. */
  readonly bytes: number;
}

/**
 * What one input may cost, whatever its numbers claim. The caller chooses the limits and the error; a parser
 * reports each step before it takes it, and all parsers of what lies inside of each other share one budget.
 * So a small input that stands for much work ends early, and the work is at most linear in what the caller
 * allows.
 */
export class ParseBudget {
  readonly #limits: ParseLimits;
  readonly #refuse: (limit: keyof ParseLimits) => Error;
  #items = 0;
  #depth = 0;
  #bytes = 0;

  /** @param refuse makes the error for the limit that is passed */
  constructor(limits: ParseLimits, refuse: (limit: keyof ParseLimits) => Error) {
    this.#limits = limits;
    this.#refuse = refuse;
  }

  /** @throws the caller's error, as all methods that count up */
  spendItems(count = 1): void {
    this.#items += count;
    if (this.#items > this.#limits.items) throw this.#refuse('items');
  }

  spendBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#limits.bytes) throw this.#refuse('bytes');
  }

  freeBytes(): void {
    this.#bytes = 0;
  }

  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#limits.depth) throw this.#refuse('depth');
  }

  leave(): void {
    this.#depth -= 1;
  }
}
