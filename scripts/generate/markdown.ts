import type { JsonSchema } from './settings-schema.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A table; cells are Markdown, with pipes escaped. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

export const code = (text: string): string => `\`${text}\``;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'boolean',
  object: 'object',
  array: 'list',
  null: 'null',
};

/** The type of a value in words: `whole number`, `list of text`, `` `a` or `b` ``. */
export const typeInWords = (schema: JsonSchema): string => {
  if (schema['const'] !== undefined) return code(JSON.stringify(schema['const']));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(' or ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeInWords).join(' or ');
  if (schema.type === 'array' && schema.items !== undefined) {
    return `list of ${schema.items.type === 'object' ? 'objects' : typeInWords(schema.items)}`;
  }
  return [schema.type ?? 'object']
    .flat()
    .map((type) => TYPES[type] ?? type)
    .join(' or ');
};

/** A default in the format of the file. */
export const defaultInWords = (value: unknown): string => {
  if (value === undefined) return '';
  if (Array.isArray(value) && value.length > 12) return 'see below';
  return code(JSON.stringify(value));
};
