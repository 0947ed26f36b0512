/** A file name in two parts. `extension` is as written and without its dot; empty when the name has none. */
export interface NameParts {
  readonly stem: string;
  readonly extension: string;
}

/**
 * Splits `photo.v2.JPG` into `photo.v2` and `JPG`. A name that is nothing but an extension (`.php`) has none:
 * servers treat such names in their own ways.
 */
export const splitExtension = (name: string): NameParts => {
  const dot = name.lastIndexOf('.');
  return dot <= 0 || dot === name.length - 1
    ? { stem: name, extension: '' }
    : { stem: name.slice(0, dot), extension: name.slice(dot + 1) };
};

const TAIL = /[\s.\u200b\u2800\u3164]/u;

/**
 * Where the dots and blanks (of every script) at the name's end begin, which some systems drop when they open
 * a file.
 */
const endOf = (name: string): number => {
  let end = name.length;
  const last = name.charCodeAt(end - 1);
  // By far most names end with a letter or digit of ASCII: a tenth of the time of the pattern.
  if (last > 0x2e && last < 0x7f) return end;
  while (end > 0 && TAIL.test(name.charAt(end - 1))) end -= 1;
  return end;
};

/**
 * The extension of a file in lower case, without dot; undefined when it has none. Dots and blanks at the end
 * do not hide it: `x.php. ` is a `php`.
 *
 * @see https://github.com/Studio-42/elFinder/issues/3458
 */
export const extensionOf = (name: string): string | undefined => {
  const end = endOf(name);
  // Listings ask this several times for each of 100,000 names, so no unused part is cut out.
  const dot = name.lastIndexOf('.', end - 1);
  return dot <= 0 ? undefined : name.slice(dot + 1, end).toLowerCase();
};

const familyOf = (name: string): string | undefined => {
  const extension = extensionOf(name);
  return extension === 'jpeg' ? 'jpg' : extension;
};

/** Whether two names say the same type: the same extension, where `jpg` and `jpeg` are one. */
export const isSameType = (one: string, other: string): boolean => familyOf(one) === familyOf(other);

/**
 * Whether a file may have this name by its extension. `extensions` are lower case, without dots. A name
 * without one may not.
 */
export const hasAllowedExtension = (name: string, extensions: readonly string[]): boolean => {
  const extension = extensionOf(name);
  return extension !== undefined && extensions.includes(extension);
};
