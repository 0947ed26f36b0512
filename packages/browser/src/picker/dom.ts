/** Attributes by name, listeners as `on` and the event; `true` is an attribute without a value. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | undefined | ((event: never) => void)>
>;

export type Child = Node | string | undefined;

/** Creates an element with attributes, listeners and children. Strings are text, never HTML. */
export const h = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.filter((child) => child !== undefined));
  return element;
};

export const setAttributes = (element: Element, attributes: Attributes): void => {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
};

/** Paths of the icons, with a stroke, in a square of 24. */
const ICONS = {
  upload: 'M12 16V4m0 0 5 5m-5-5L7 9M4 16v4h16v-4',
  folder: 'M3 6a1 1 0 0 1 1-1h5l2 2h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z',
  newFolder: 'M3 6a1 1 0 0 1 1-1h5l2 2h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1zM12 10v6m-3-3h6',
  file: 'M6 3h8l4 4v13a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm8 0v4h4',
  rename: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  move: 'M3 6a1 1 0 0 1 1-1h5l2 2h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1zM9 13h6m-2-2 2 2-2 2',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  remove: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5m4-5v5',
  edit: 'M6 2v16h16M2 6h16v16',
  paste: 'M8 5H5v16h14V5h-3M9 3h6v4H9zM9 14l2 2 4-4',
  replace: 'M4 12a8 8 0 0 1 14-5m2-4v5h-5M20 12a8 8 0 0 1-14 5m-2 4v-5h5',
  turnLeft: 'M4 9h10a5 5 0 0 1 0 10h-3M4 9l4-4M4 9l4 4',
  turnRight: 'M20 9H10a5 5 0 0 0 0 10h3m7-10-4-4m4 4-4 4',
  download: 'M12 4v12m0 0 5-5m-5 5-5-5M4 20h16',
  tiles: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M12 17v-6m-2.5 2.5L12 11l2.5 2.5',
  more: 'M12 5h.01M12 12h.01M12 19h.01',
  close: 'M6 6l12 12M18 6 6 18',
  up: 'M12 20V5m0 0 6 6m-6-6-6 6',
  check: 'M5 13l4 4L19 7',
  details: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zm0 8v5m0-8h.01',
  open: 'M9 6l6 6-6 6',
} as const;

export type IconName = keyof typeof ICONS;

/** An icon that screen readers ignore: the button around it has the name. */
export const icon = (name: IconName): SVGElement => {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  setAttributes(svg, { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' });
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
};

/**
 * Whether the key was for an input method, as Escape is that drops its suggestion. Safari reports the end of
 * the composition before its last key, which has only the code 229.
 */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;

type Clicked = (event: MouseEvent) => void;

export const button = (text: string, onclick: Clicked, attributes: Attributes = {}): HTMLButtonElement =>
  h('button', { type: 'button', class: 'button', part: 'button', onclick, ...attributes }, text);

/** A button with an icon; `label` is its tooltip and accessible name. */
export const iconButton = (
  name: IconName,
  label: string,
  onclick: Clicked,
  attributes: Attributes = {},
): HTMLButtonElement => {
  const made = button('', onclick, {
    class: 'button icon-only',
    'aria-label': label,
    title: label,
    ...attributes,
  });
  made.append(icon(name));
  return made;
};

export const isReversed = (element: Element): boolean => getComputedStyle(element).direction === 'rtl';

/** The arrow keys that move forward and back in a line of text. */
export const arrowsOf = (element: Element): readonly [string, string] =>
  isReversed(element) ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft'];

/**
 * Roving tabindex: one element of a group takes the focus by Tab, the others by arrow keys, as in toolbars
 * and menus. The right arrow moves forward, or back in right-to-left text.
 */
export const roveFocus = (
  container: HTMLElement,
  members: () => readonly HTMLElement[],
  axis: 'horizontal' | 'vertical',
): void => {
  const usable = (): HTMLElement[] =>
    members().filter((one) => !one.hidden && !(one instanceof HTMLButtonElement && one.disabled));
  const settle = (current?: HTMLElement): void => {
    const all = usable();
    const stop = current ?? all.find((one) => one.tabIndex === 0) ?? all[0];
    for (const one of members()) one.tabIndex = one === stop ? 0 : -1;
  };
  container.addEventListener('keydown', (event) => {
    const all = usable();
    const at = all.findIndex((one) => one === event.composedPath()[0]);
    if (at === -1) return;
    const [forward, backward] = axis === 'vertical' ? ['ArrowDown', 'ArrowUp'] : arrowsOf(container);
    const steps: Readonly<Record<string, number>> = {
      [forward]: (at + 1) % all.length,
      [backward]: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    const next = all[steps[event.key] ?? -1];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    settle(next);
    next.focus();
  });
  container.addEventListener('focusin', (event) => {
    const target = event.composedPath()[0];
    if (target instanceof HTMLElement && members().includes(target)) settle(target);
  });
  settle();
};

/** The file name in a response's headers: the exact one, if it is present beside the ASCII form. */
const filenameOf = ({ headers }: Response): string | undefined => {
  const header = headers.get('content-disposition') ?? '';
  const exact = /filename\*=UTF-8''([^;]+)/u.exec(header)?.[1];
  return exact === undefined ? /filename="([^"]+)"/u.exec(header)?.[1] : decodeURIComponent(exact);
};

/** Saves the body of a response as a file; by default under the name in the response. */
export const saveFile = async (response: Response, name?: string): Promise<void> => {
  const href = URL.createObjectURL(await response.blob());
  h('a', { href, download: name ?? filenameOf(response) ?? 'files.zip' }).click();
  // The browser reads it asynchronously.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
};
