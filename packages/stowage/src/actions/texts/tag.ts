export interface TagAttribute {
  /** Value with its character references decoded. */
  readonly value: string;
  /** Offsets of the value in the text, without quotes. */
  readonly start: number;
  readonly end: number;
  readonly quote: '"' | "'" | '';
}

/** A start tag with its attributes by their names in lower case. */
export interface Tag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, TagAttribute>;
}
