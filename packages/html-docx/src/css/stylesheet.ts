import { parseDeclarations, splitOutside, type Declaration } from './declarations.ts';
import { parseSelectors, type Located, type Selector } from './selector.ts';

/** Maximum nesting of media blocks; deeper ones are skipped. */
const MAX_NESTING = 8;

/** Maximum number of rules; further ones are skipped. */
const MAX_RULES = 20_000;

interface Rule {
  readonly selector: Selector;
  readonly declarations: readonly Declaration[];
  readonly order: number;
}

/** A parsed style sheet: its imports, and its rules in one flat list. */
export interface SheetText {
  readonly imports: readonly string[];
  readonly rules: readonly (readonly [selectors: string, body: string])[];
  /** Content of `@page` rules without a selector, except margin boxes. */
  readonly pages: readonly string[];
}

const unquoted = (text: string): string => {
  const target = text.trim();
  const inner = /^url\(.*\)$/isu.test(target) ? target.slice('url('.length, -1).trim() : target;
  return inner.replace(/^(["'])([\s\S]*)\1$/u, '$2');
};

/**
 * Whether rules for these media apply to print. Queries with conditions, such as a screen size, do not match.
 */
export const isForPaper = (media: string): boolean => {
  const text = media.trim().toLowerCase();
  return text === '' || text.split(',').some((query) => /^\s*(?:only\s+)?(?:all|print)\s*$/u.test(query));
};

/** The index of the closing brace of the block that begins at `open`. */
const blockEnd = (text: string, open: number): number => {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"' || char === "'") {
      const close = text.indexOf(char, at + 1);
      at = close === -1 ? text.length : close;
    } else if (char === '{') depth += 1;
    else if (char === '}') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return text.length;
};

const readStatement = (prelude: string, imports: string[]): void => {
  const [, target, media = ''] =
    /^@import\s+(url\([^)]*\)|"[^"]*"|'[^']*')\s*(?:layer\b(?:\([^)]*\))?)?([^;]*)$/iu.exec(prelude) ?? [];
  if (target !== undefined && isForPaper(media)) imports.push(unquoted(target));
};

/** A sheet that is being parsed. */
interface SheetDraft {
  readonly imports: string[];
  readonly rules: [selectors: string, body: string][];
  readonly pages: string[];
}

/** Limits of `@page` rules; longer and further ones are skipped. */
const [MAX_PAGE_RULE, MAX_PAGE_RULES] = [2000, 100];

/** Margin boxes, such as `@top-center { }`, are not supported. */
const withoutBoxes = (body: string): string =>
  body.replaceAll(/@[\w-]+\s*\{(?:"[^"]*"|'[^']*'|[^}"'])*\}/gu, ';');

const readAtRule = (prelude: string, body: string, sheet: SheetDraft, depth: number): void => {
  const media = /^@media\b([\s\S]*)$/iu.exec(prelude)?.[1];
  const isRead = media === undefined ? /^@(?:layer|supports(?!\s+not))\b/iu.test(prelude) : isForPaper(media);
  if (isRead && depth < MAX_NESTING) readBlocks(body, sheet, depth + 1);
  if (!/^@page$/iu.test(prelude) || body.length > MAX_PAGE_RULE || sheet.pages.length >= MAX_PAGE_RULES)
    return;
  sheet.pages.push(withoutBoxes(body));
};

const readBlocks = (text: string, sheet: SheetDraft, depth = 0): void => {
  let [open, semicolon] = [-1, -1];
  const next = (char: string, known: number, at: number): number => {
    if (known >= at) return known;
    const found = text.indexOf(char, at);
    return found === -1 ? Infinity : found;
  };
  for (let at = 0; at < text.length && sheet.rules.length < MAX_RULES;) {
    // Each is searched again only after its position has been passed: the rest may contain none.
    open = next('{', open, at);
    semicolon = next(';', semicolon, at);
    if (semicolon < open && text.slice(at).trimStart().startsWith('@')) {
      readStatement(text.slice(at, semicolon).trim(), sheet.imports);
      at = semicolon + 1;
      continue;
    }
    if (open === Infinity) return;
    const end = blockEnd(text, open);
    const prelude = text.slice(at, open).trim();
    const body = text.slice(open + 1, end);
    if (prelude.startsWith('@')) readAtRule(prelude, body, sheet, depth);
    else sheet.rules.push([prelude, body]);
    at = end + 1;
  }
};

/**
 * Parses a style sheet. Rules for other media than print, and at-rules other than `@media`, `@layer`,
 * `@supports` (taken as true without `not`), `@import` and `@page`, are left out.
 */
export const readSheet = (text: string): SheetText => {
  const sheet: SheetDraft = { imports: [], rules: [], pages: [] };
  readBlocks(text.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)/gu, ' ').replaceAll(/<!--|-->/gu, ' '), sheet);
  return sheet;
};

/** Finds the rules that apply to an element. */
export class StyleRules {
  readonly #byKey = new Map<string, Rule[]>();
  readonly #pages: string[] = [];
  #count = 0;

  /** Content of all `@page` rules, in their order. */
  get pages(): readonly string[] {
    return this.#pages;
  }

  /** Adds the rules of a sheet. Later ones override earlier ones of equal specificity. */
  add(sheet: SheetText): void {
    this.#pages.push(...sheet.pages);
    for (const [list, body] of sheet.rules) {
      const declarations = parseDeclarations(body);
      for (const selector of declarations.length === 0 ? [] : parseSelectors(list)) {
        if (this.#count >= MAX_RULES) return;
        const rules = this.#byKey.get(selector.key) ?? [];
        rules.push({ selector, declarations, order: (this.#count += 1) });
        this.#byKey.set(selector.key, rules);
      }
    }
  }

  /** The declarations for an element, lowest priority first. */
  for(located: Located): readonly Declaration[] {
    if (this.#count === 0) return [];
    const { tag, attributes } = located.node;
    const classes = splitOutside(attributes.get('class') ?? '', /\s/u).map((name) => `.${name}`);
    const keys = new Set(['*', tag, `#${attributes.get('id') ?? ''}`, ...classes]);
    const found = [...keys]
      .flatMap((key) => this.#byKey.get(key) ?? [])
      .filter(({ selector }) => selector.matches(located));
    found.sort((one, two) => one.selector.specificity - two.selector.specificity || one.order - two.order);
    return found.flatMap(({ declarations }) => declarations);
  }
}
