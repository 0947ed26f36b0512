/** Returns a custom property (`--name`) of an element or its ancestors, with its references resolved. */
export type Variables = (name: string) => string | undefined;

const REFERENCE = /var\(\s*(--[\w-]+)\s*(?:,((?:[^()]|\([^()]*\))*))?\)/giu;
/** Limits of a value and of the references in references; a longer value stays as it is. */
const [MAX_LENGTH, MAX_DEPTH] = [1000, 8];

/** Replaces `var(--name, fallback)`. A reference to nothing is removed, so that the value is invalid. */
export const resolved = (value: string, variables: Variables): string => {
  let text = value;
  for (let depth = 0; depth < MAX_DEPTH && text.length <= MAX_LENGTH && /var\(/iu.test(text); depth += 1)
    text = text.replaceAll(
      REFERENCE,
      (_reference, name: string, fallback = '') => variables(name.toLowerCase()) ?? String(fallback).trim(),
    );
  return text;
};

const isShort = ([, value]: readonly [string, string]): boolean => value.length <= MAX_LENGTH;

/**
 * The custom properties of an element: its own, and those of its parent. These are not copied, since pages
 * have hundreds and set some at each element.
 */
export const variablesOf = (values: ReadonlyMap<string, string>, inherited: Variables): Variables => {
  const own = new Map([...values].filter(([name]) => name.startsWith('--')).filter(isShort));
  if (own.size === 0) return inherited;
  const unresolved: Variables = (name) => own.get(name) ?? inherited(name);
  const found = [...own].map(([name, value]) => [name, resolved(value, unresolved)] as const);
  const short = new Map(found.filter(isShort));
  return (name) => short.get(name) ?? inherited(name);
};
