/** What an element has besides its class: attributes, and text that is never read as HTML. */
interface Parts {
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children?: readonly Node[];
}

/** Makes an element. */
export const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  { text, attributes = {}, children = [] }: Parts = {},
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
};

/**
 * Names a part for screen readers by a text that is not seen: an `aria-label` on a part of Jodit would appear
 * as a tooltip over everything in it.
 */
export const nameForReaders = (part: HTMLElement, home: HTMLElement, text: string): void => {
  const id = `stowage-${Math.random().toString(36).slice(2)}`;
  home.append(make('span', '', { text, attributes: { id, hidden: '' } }));
  part.setAttribute('aria-labelledby', id);
};

/** A button that submits nothing. */
export const makeButton = (className: string, onClick: () => void, parts: Parts): HTMLButtonElement => {
  const button = make('button', className, { ...parts, attributes: { type: 'button', ...parts.attributes } });
  button.addEventListener('click', onClick);
  return button;
};

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text for HTML, also between double quotes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/gu, (sign) => entities[sign] ?? sign);
