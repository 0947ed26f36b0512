/** Custom properties (`--name`) of an element and its ancestors, with their references resolved. */
export type Variables = ReadonlyMap<string, string>;

const REFERENCE = /var\(\s*(--[\w-]+)\s*(?:,((?:[^()]|\([^()]*\))*))?\)/giu;
/** Limits of a value and of the references in references; a longer value stays as it is. */
const [MAX_LENGTH, MAX_DEPTH] = [1000, 8];

/** Replaces `var(--name, fallback)`. A reference to nothing is removed, so that the value is invalid. */
export const resolved = (value: string, variables: Variables): string => {
  let text = value;
  for (let depth = 0; depth < MAX_DEPTH && text.length <= MAX_LENGTH && /var\(/iu.test(text); depth += 1)
    text = text.replaceAll(
      REFERENCE,
      (_reference, name: string, fallback = '') =>
        variables.get(name.toLowerCase()) ?? String(fallback).trim(),
    );
  return text;
};

const isShort = ([, value]: readonly [string, string]): boolean => value.length <= MAX_LENGTH;

/** The custom properties of an element: its own, and those of its parent. */
export const variablesOf = (values: ReadonlyMap<string, string>, inherited: Variables): Variables => {
  const own = [...values].filter(([name]) => name.startsWith('--'));
  if (own.length === 0) return inherited;
  const all = new Map([...inherited, ...own.filter(isShort)]);
  const found = own.map(([name, value]) => [name, resolved(value, all)] as const);
  return new Map([...inherited, ...found.filter(isShort)]);
};
