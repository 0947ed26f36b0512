/**
 * Removes positions from XMP packets in place, by overwriting them with blanks: blanks are allowed between
 * properties, and the containing file need not change.
 *
 * @see https://github.com/adobe/xmp-docs XMP specification, part 1, section 7
 */

/** Longer packets contain depth maps or garbage; if they mention a position, they are blanked completely. */
const MAX_PACKET_BYTES = 4 * 1024 * 1024;
/** Every position comes with one of these words: names of properties, keywords. */
export const MENTIONED =
  /gps|latitude|longt?itude|verbatimcoordinates|footprintwkt|geo:l|[<:]l(?:at|ong?)(?:_long)?\b|RXhpZgAA|V4aWYAA|FeGlmAA/iu;
/** Local names of properties with a position: `exif:GPSLatitude`, `geo:lat`, `dwc:decimalLongitude`. */
const PROPERTY =
  /^(?:[^:]*:)?(?:gps|\w*(?<!speed)(?:lat|longt?)itude|verbatimcoordinates|footprintwkt|(?:lat|lat_long|long?)$)/iu;
/** Values with a position: a keyword, or a picture in base64 with its own EXIF data. */
const VALUE = /geo:l(?:at|ong?)=|RXhpZgAA|V4aWYAA|FeGlmAA/u;

const BLANK = 0x20;

/** Offsets of a part of a packet; the end is exclusive. */
type Part = readonly [start: number, end: number];

/** A tag of a packet; `end` is the offset after its bracket. */
interface Tag {
  readonly name: string;
  readonly kind: 'start' | 'end' | 'empty';
  readonly end: number;
  /** Attributes with a position, with the blank before them. */
  readonly located: readonly Part[];
}

const NAME_END = /[\s/>=]/gu;

const nameEnd = (text: string, at: number): number => {
  NAME_END.lastIndex = at;
  return NAME_END.exec(text)?.index ?? text.length;
};

const behindBlanks = (text: string, at: number): number => {
  let end = at;
  while (' \t\r\n'.includes(text.charAt(end)) && end < text.length) end += 1;
  return end;
};

/** The end of the attribute at `at`; undefined when it is malformed. */
const endOfAttribute = (text: string, at: number): number | undefined => {
  const equals = behindBlanks(text, nameEnd(text, at));
  if (!text.startsWith('=', equals)) return undefined;
  const start = behindBlanks(text, equals + 1);
  const quote = text.charAt(start);
  if (quote !== '"' && quote !== "'") return undefined;
  const end = text.indexOf(quote, start + 1);
  return end < 0 ? undefined : end + 1;
};

/** Parses the attributes of a tag from `start` on; undefined when it is malformed. */
const readAttributes = (text: string, start: number): Pick<Tag, 'end' | 'located'> | undefined => {
  const located: Part[] = [];
  for (let before = start; before < text.length;) {
    const at = behindBlanks(text, before);
    if (text.startsWith('>', at)) return { end: at + 1, located };
    if (text.startsWith('/>', at)) return { end: at + 2, located };
    const end = endOfAttribute(text, at);
    if (end === undefined) return undefined;
    const name = nameEnd(text, at);
    if (PROPERTY.test(text.slice(at, name)) || VALUE.test(text.slice(name, end))) located.push([before, end]);
    before = end;
  }
  return undefined;
};

/** The end of markup that is not a tag: a comment, an instruction, CDATA. Undefined for a tag. */
const skipOther = (text: string, at: number): number | undefined => {
  for (const [opening, closing] of [
    ['<!--', '-->'],
    ['<![CDATA[', ']]>'],
    ['<?', '?>'],
  ] as const) {
    if (!text.startsWith(opening, at)) continue;
    const end = text.indexOf(closing, at + opening.length);
    return end < 0 ? text.length : end + closing.length;
  }
  return undefined;
};

const readTag = (text: string, at: number): Tag | undefined => {
  const isEnd = text.startsWith('</', at);
  const start = at + (isEnd ? 2 : 1);
  const name = text.slice(start, nameEnd(text, start));
  // Entities could disguise a name; programs do not write them here.
  if (name === '' || name.startsWith('!')) return undefined;
  const rest = readAttributes(text, start + name.length);
  if (rest === undefined) return undefined;
  const kind = isEnd ? 'end' : text.startsWith('/>', rest.end - 2) ? 'empty' : 'start';
  return { name, kind, ...rest };
};

class PartFinder {
  readonly parts: Part[] = [];
  /** The current property with a position, and the number of open elements with its name. */
  #open: { readonly name: string; readonly start: number; depth: number } | undefined;

  get isComplete(): boolean {
    return this.#open === undefined;
  }

  tag(at: number, { name, kind, end, located }: Tag): void {
    const open = this.#open;
    if (open === undefined) {
      this.parts.push(...located);
      if (!PROPERTY.test(name)) return;
      if (kind === 'start') this.#open = { name, start: at, depth: 1 };
      else this.parts.push([at, end]);
    } else if (name === open.name && kind !== 'empty') {
      open.depth += kind === 'start' ? 1 : -1;
      if (open.depth > 0) return;
      this.parts.push([open.start, end]);
      this.#open = undefined;
    }
  }
}

/** The parts of a packet with a position; undefined when it is malformed. One pass. */
const locatedParts = (text: string): readonly Part[] | undefined => {
  const finder = new PartFinder();
  for (let at = text.indexOf('<'); at >= 0;) {
    const skipped = skipOther(text, at);
    const tag = skipped === undefined ? readTag(text, at) : undefined;
    if (tag !== undefined) finder.tag(at, tag);
    const end = skipped ?? tag?.end;
    if (end === undefined) return undefined;
    if (skipped !== undefined && MENTIONED.test(text.slice(at, end))) finder.parts.push([at, end]);
    at = text.indexOf('<', end);
    if (at >= 0 && VALUE.test(text.slice(end, at))) finder.parts.push([end, at]);
  }
  return finder.isComplete ? finder.parts : undefined;
};

/**
 * Blanks every property of a packet that contains a position, in place. A packet that mentions one and cannot
 * be parsed, or is too long, is blanked completely.
 */
export const blankLocationInXmp = (packet: Buffer): void => {
  // Latin-1 preserves the byte offsets: names of properties are ASCII.
  const text = packet.toString('latin1');
  const isWide = text.includes('\0');
  if (!MENTIONED.test(isWide ? text.replaceAll('\0', '') : text)) return;
  const isPlain = !isWide && packet.length <= MAX_PACKET_BYTES && !text.includes('<!DOCTYPE');
  const parts = isPlain ? locatedParts(text) : undefined;
  for (const [start, end] of parts ?? [[0, packet.length]]) packet.fill(BLANK, start, end);
};
