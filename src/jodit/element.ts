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
