import type { Located } from '../css/selector.ts';
import type { ElementNode } from '../html/nodes.ts';
import type { FlowParts } from './flow-parts.ts';
import { linkTarget } from './links.ts';

const withNode = (located: Located, node: ElementNode): Located => ({ ...located, node });

const text = (content: string) => [{ kind: 'text' as const, text: content }];

/** A link to what an element embeds, named by its title or its address. */
const embedded = (located: Located, parts: FlowParts): Located | undefined => {
  const { attributes, children } = located.node;
  const source = children.find((child) => child.kind === 'element' && child.tag === 'source');
  const own =
    attributes.get('src') ?? (source?.kind === 'element' ? source.attributes.get('src') : undefined);
  const href = own?.trim().startsWith('#') === true ? undefined : linkTarget(own, parts);
  if (href === undefined) return undefined;
  const name = attributes.get('title')?.trim() || href;
  return withNode(located, {
    kind: 'element',
    tag: 'a',
    attributes: new Map([...attributes, ['href', href]]),
    children: text(name),
  });
};

/** Inputs whose value a page does not show. */
const UNSEEN: ReadonlySet<string> = new Set(['hidden', 'password', 'file', 'image', 'color', 'range']);

/** What a page shows of an input: a box to tick, a button of several, or its value. */
const shownOfInput = (attributes: ReadonlyMap<string, string>): string | undefined => {
  const type = attributes.get('type')?.toLowerCase() ?? 'text';
  const isChecked = attributes.has('checked');
  if (type === 'checkbox') return isChecked ? '☑' : '☐';
  if (type === 'radio') return isChecked ? '◉' : '○';
  return UNSEEN.has(type) ? undefined : attributes.get('value');
};

/**
 * An element as a text document can show it: a box to tick is a character, what plays is a link, and a link
 * that leads nowhere is text. Undefined when nothing of it can be shown.
 */
export const standIn = (located: Located, parts: FlowParts): Located | undefined => {
  const { node } = located;
  const { tag, attributes } = node;
  switch (tag) {
    case 'input': {
      const shown = shownOfInput(attributes);
      return shown === undefined ? undefined : withNode(located, { ...node, children: text(shown) });
    }
    case 'iframe':
    case 'video':
    case 'audio':
      return embedded(located, parts);
    case 'a': {
      if (!attributes.has('href') || linkTarget(attributes.get('href'), parts) !== undefined) return located;
      const rest = new Map([...attributes].filter(([name]) => name !== 'href'));
      return withNode(located, { ...node, attributes: rest });
    }
    default:
      return located;
  }
};
