import type { ElementNode } from '../html/nodes.ts';
import { splitOutside } from './declarations.ts';

/** An element with its position in the tree. */
export interface Located {
  readonly node: ElementNode;
  readonly parent: Located | undefined;
  /** Position among the elements of its parent, from 0. */
  readonly index: number;
  /** The elements of its parent. */
  readonly siblings: readonly ElementNode[];
}

type Test = (located: Located) => boolean;

/** The relation of a compound selector to the previous one. */
type Combinator = ' ' | '>' | '+' | '~';

interface Step {
  readonly combinator: Combinator;
  readonly tests: readonly Test[];
}

/** A selector that can be matched against elements. */
export interface Selector {
  readonly specificity: number;
  /** `#id`, `.class` or tag that an element must have, else `*`: an index for candidates. */
  readonly key: string;
  readonly matches: (located: Located) => boolean;
}

/** Selectors with more steps are ignored. */
const MAX_STEPS = 12;

const PART =
  /^(?:(\*|[a-z][\w-]*)|#([\w-]+)|\.([\w-]+)|\[\s*([\w-]+)\s*(?:([~|^$*]?=)\s*("[^"]*"|'[^']*'|[^\]\s]+)\s*)?\]|:([a-z-]+)(?:\(([^()]*)\))?)/iu;

const hasWord = (text: string | undefined, word: string): boolean =>
  text !== undefined && text.split(/\s+/u).includes(word);

const attributeTest = (name: string, operator: string | undefined, quoted: string): Test => {
  const wanted = quoted.replace(/^(["'])(.*)\1$/u, '$2');
  const key = name.toLowerCase();
  return ({ node }) => {
    const value = node.attributes.get(key);
    if (value === undefined) return false;
    switch (operator) {
      case '=':
        return value === wanted;
      case '~=':
        return hasWord(value, wanted);
      case '|=':
        return value === wanted || value.startsWith(`${wanted}-`);
      case '^=':
        return wanted !== '' && value.startsWith(wanted);
      case '$=':
        return wanted !== '' && value.endsWith(wanted);
      case '*=':
        return wanted !== '' && value.includes(wanted);
      case undefined:
      default:
        return true;
    }
  };
};

/** Parses `2n+1`, `odd`, `3` to a test of a position, counted from 1. */
const nthTest = (formula: string): ((position: number) => boolean) | undefined => {
  const text = formula.trim().toLowerCase().replace('odd', '2n+1').replace('even', '2n');
  const match = /^([+-]?\d*)n\s*(?:([+-])\s*(\d+))?$/u.exec(text);
  if (match === null) return /^\d+$/u.test(text) ? (position) => position === Number(text) : undefined;
  const step = match[1] === '' || match[1] === '+' ? 1 : match[1] === '-' ? -1 : Number(match[1]);
  const offset = Number(`${match[2] ?? '+'}${match[3] ?? '0'}`);
  return (position) => {
    const distance = position - offset;
    return step === 0 ? distance === 0 : distance % step === 0 && distance / step >= 0;
  };
};

/** Undefined for an unknown pseudo-class: its rule is dropped. */
const pseudoTest = (name: string, argument: string): Test | undefined => {
  switch (name) {
    case 'first-child':
      return ({ index }) => index === 0;
    case 'last-child':
      return ({ index, siblings }) => index === siblings.length - 1;
    case 'only-child':
      return ({ siblings }) => siblings.length === 1;
    case 'root':
      return ({ parent }) => parent === undefined;
    case 'link':
      return ({ node }) => node.tag === 'a' && node.attributes.has('href');
    case 'nth-child': {
      const isNth = nthTest(argument);
      return isNth && (({ index }) => isNth(index + 1));
    }
    case 'nth-last-child': {
      const isNth = nthTest(argument);
      return isNth && (({ index, siblings }) => isNth(siblings.length - index));
    }
    default:
      return undefined;
  }
};

interface Compound {
  readonly tests: readonly Test[];
  readonly weight: number;
  readonly key: string;
}

const parseCompound = (text: string): Compound | undefined => {
  const tests: Test[] = [];
  let [weight, key, rest] = [0, '*', text];
  while (rest !== '') {
    const match = PART.exec(rest);
    if (match === null) return undefined;
    const [whole, tag, id, className, attribute, operator, value = '', pseudo, argument = ''] = match;
    rest = rest.slice(whole.length);
    if (tag !== undefined && tag !== '*') {
      const name = tag.toLowerCase();
      tests.push(({ node }) => node.tag === name);
      weight += 1;
      if (key === '*') key = name;
    } else if (id !== undefined) {
      tests.push(({ node }) => node.attributes.get('id') === id);
      weight += 10_000;
      key = `#${id}`;
    } else if (className !== undefined) {
      tests.push(({ node }) => hasWord(node.attributes.get('class'), className));
      weight += 100;
      if (!key.startsWith('#')) key = `.${className}`;
    } else if (attribute !== undefined) {
      tests.push(attributeTest(attribute, operator, value));
      weight += 100;
    } else if (pseudo !== undefined) {
      const test = pseudoTest(pseudo.toLowerCase(), argument);
      if (test === undefined) return undefined;
      tests.push(test);
      weight += 100;
    }
  }
  return { tests, weight, key };
};

const before = ({ siblings, index, parent }: Located): Located | undefined => {
  const node = siblings[index - 1];
  return node === undefined ? undefined : { node, siblings, index: index - 1, parent };
};

/** Candidates on the other side of a combinator, nearest first. */
const reach = (located: Located, combinator: Combinator): readonly Located[] => {
  const next = combinator === ' ' || combinator === '>' ? ({ parent }: Located) => parent : before;
  const found: Located[] = [];
  for (let at = next(located); at !== undefined; at = next(at)) {
    found.push(at);
    if (combinator === '>' || combinator === '+') break;
  }
  return found;
};

/**
 * Whether the steps before the last one match. Visits every element at most once per step, for any selector.
 */
const leads = (steps: readonly Step[], located: Located): boolean => {
  let current = new Map([[located.node, located]]);
  for (let at = steps.length - 2; at >= 0; at -= 1) {
    const [tests, combinator] = [steps[at]?.tests ?? [], steps[at + 1]?.combinator ?? ' '];
    const found = new Map<ElementNode, Located>();
    for (const from of current.values()) {
      for (const candidate of reach(from, combinator)) {
        if (found.has(candidate.node) || !tests.every((test) => test(candidate))) continue;
        if (at === 0) return true;
        found.set(candidate.node, candidate);
      }
    }
    current = found;
  }
  return steps.length === 1;
};

/** Splits into compounds and combinators in one pass; stops after more of them than a selector may have. */
const wordsOf = (text: string): readonly string[] => {
  const words: string[] = [];
  let [from, depth, quote] = [0, 0, ''];
  const end = (at: number): void => {
    if (at > from) words.push(text.slice(from, at));
    from = at + 1;
  };
  for (let at = 0; at < text.length && words.length <= 2 * MAX_STEPS; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '[' || char === '(') depth += 1;
    else if (char === ']' || char === ')') depth = Math.max(0, depth - 1);
    else if (depth === 0 && /[\s>+~]/u.test(char)) {
      end(at);
      if (char.trim() !== '') words.push(char);
    }
  }
  end(text.length);
  return words;
};

/** Undefined for an invalid selector, whose rule is dropped as in CSS. */
const parseSelector = (text: string): Selector | undefined => {
  const steps: Step[] = [];
  let [specificity, key] = [0, '*'];
  let combinator: Combinator = ' ';
  for (const word of wordsOf(text)) {
    if (word === '>' || word === '+' || word === '~') {
      combinator = word;
      continue;
    }
    const compound = parseCompound(word);
    if (compound === undefined) return undefined;
    steps.push({ combinator, tests: compound.tests });
    specificity += compound.weight;
    key = compound.key;
    combinator = ' ';
  }
  const last = steps.at(-1);
  if (last === undefined || steps.length > MAX_STEPS) return undefined;
  const matches = (located: Located): boolean =>
    last.tests.every((test) => test(located)) && leads(steps, located);
  return { specificity, key, matches };
};

/** Parses a list of selectors; invalid ones are left out. */
export const parseSelectors = (list: string): readonly Selector[] =>
  splitOutside(list, /,/u).flatMap((text) => parseSelector(text) ?? []);
