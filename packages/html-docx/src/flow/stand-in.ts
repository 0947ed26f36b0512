import type { Located } from '../css/selector.ts';
import type { ElementNode } from '../html/nodes.ts';
import type { FlowParts } from './flow-parts.ts';
import { linkTarget } from './links.ts';

const withNode = (located: Located, node: ElementNode): Located => ({ ...located, node });

const text = (content: string) => [{ kind: 'text' as const, text: content }];

/** A link to embedded content, with its title or URL as text. */
const embedded = (located: Located, parts: FlowParts): Located | undefined => {
  const { attributes, children } = located.node;
  const source = children.find((child) => child.kind === 'element' && child.tag === 'source');
  const own =
    attributes.get('src') ??
    (source?.kind === 'element' ? source.attributes.get('src') : attributes.get('url'));
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

/** Inputs whose value is not visible on a page. */
const UNSEEN: ReadonlySet<string> = new Set(['hidden', 'password', 'file', 'image', 'color', 'range']);

/** Visible form of an input: a checkbox, a radio button, or its value. */
const shownOfInput = (attributes: ReadonlyMap<string, string>): string | undefined => {
  const type = attributes.get('type')?.toLowerCase() ?? 'text';
  const isChecked = attributes.has('checked');
  // The blank stands for the margin that browsers leave beside them.
  if (type === 'checkbox') return isChecked ? '☑ ' : '☐ ';
  if (type === 'radio') return isChecked ? '◉ ' : '○ ';
  return UNSEEN.has(type) ? undefined : attributes.get('value');
};

/**
 * Replaces elements that a text document cannot contain: a checkbox by a character, media by a link, and a
 * link without a valid target by its text. Undefined when nothing of it can be shown.
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
    // CKEditor's media, with their address in `url`.
    case 'oembed':
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
