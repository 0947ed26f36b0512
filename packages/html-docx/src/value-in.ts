/** The value of a table for a key of the page; undefined for names that every object has: `constructor`. */
export const valueIn = <Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;
