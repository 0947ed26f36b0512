import { h } from './dom.ts';
import type { Texts } from './texts.ts';

/** An area of a picture, in pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The directions of each handle of an area. */
const HANDLES = [-1, 0, 1]
  .flatMap((down) => [-1, 0, 1].map((across) => [across, down] as const))
  .filter(([across, down]) => across !== 0 || down !== 0);

const FIELDS = ['x', 'y', 'w', 'h'] as const;

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

/** Selects an area of a picture by pointer, keys and numbers. */
export class CropArea {
  /** The picture with the area on top. */
  readonly element: HTMLElement;
  readonly fields: HTMLElement;
  readonly #frame: HTMLElement;
  readonly #size: { readonly width: number; readonly height: number };
  readonly #inputs: Readonly<Record<keyof Box, HTMLInputElement>>;
  #box: Box;

  constructor(
    texts: Texts,
    image: HTMLImageElement,
    size: { readonly width: number; readonly height: number },
  ) {
    this.#size = size;
    this.#box = { x: 0, y: 0, w: size.width, h: size.height };
    const handles = HANDLES.map(([across, down], index) => {
      const handle = h('span', { class: 'handle', 'data-index': index });
      Object.assign(handle.style, {
        left: `${String(50 + 50 * across)}%`,
        top: `${String(50 + 50 * down)}%`,
      });
      return handle;
    });
    this.#frame = h(
      'div',
      { class: 'crop', tabindex: 0, role: 'group', 'aria-label': texts.image.area },
      ...handles,
    );
    this.element = h('div', { class: 'stage' }, image, this.#frame);
    this.#inputs = { x: this.#input('x'), y: this.#input('y'), w: this.#input('w'), h: this.#input('h') };
    const labels = { x: texts.image.left, y: texts.image.top, w: texts.image.width, h: texts.image.height };
    this.fields = h(
      'div',
      { class: 'fields' },
      ...FIELDS.map((key) => h('label', {}, labels[key], this.#inputs[key])),
    );
    this.#frame.addEventListener('pointerdown', (event) => this.#pull(event));
    this.#frame.addEventListener('keydown', (event) => this.#press(event));
    this.#draw();
  }

  get box(): Box {
    return this.#box;
  }

  #input(key: keyof Box): HTMLInputElement {
    const isAcross = key === 'x' || key === 'w';
    const max = isAcross ? this.#size.width : this.#size.height;
    const field = h('input', { type: 'number', min: key === 'w' || key === 'h' ? 1 : 0, max });
    field.addEventListener('change', () => {
      const value = Math.round(Number(field.value));
      this.#set({ ...this.#box, ...(Number.isFinite(value) ? { [key]: value } : {}) });
    });
    return field;
  }

  /** Sets the area, limited to the picture. */
  #set({ x, y, w, h: high }: Box): void {
    const { width, height } = this.#size;
    const [wide, tall] = [clamp(Math.round(w), 1, width), clamp(Math.round(high), 1, height)];
    this.#box = {
      x: clamp(Math.round(x), 0, width - wide),
      y: clamp(Math.round(y), 0, height - tall),
      w: wide,
      h: tall,
    };
    this.#draw();
  }

  #draw(): void {
    const { x, y, w, h: high } = this.#box;
    const { width, height } = this.#size;
    const percent = (part: number, whole: number): string => `${String((part / whole) * 100)}%`;
    // Pictures are not mirrored in right-to-left text: left is left.
    Object.assign(this.#frame.style, {
      left: percent(x, width),
      top: percent(y, height),
      width: percent(w, width),
      height: percent(high, height),
    });
    for (const key of FIELDS) this.#inputs[key].value = String(this.#box[key]);
  }

  #pull(event: PointerEvent): void {
    const handle =
      event.target instanceof HTMLElement && HANDLES[Number(event.target.dataset['index'] ?? -1)];
    const start = this.#box;
    const scale = this.#size.width / this.element.clientWidth;
    const { clientX, clientY, pointerId } = event;
    event.preventDefault();
    this.#frame.focus();
    this.#frame.setPointerCapture(pointerId);
    const ending = new AbortController();
    const { signal } = ending;
    const move = (moved: PointerEvent): void => {
      const [dx, dy] = [(moved.clientX - clientX) * scale, (moved.clientY - clientY) * scale];
      const moveWhole = { ...start, x: start.x + dx, y: start.y + dy };
      this.#set(handle ? this.#pulled(start, handle, dx, dy) : moveWhole);
    };
    this.#frame.addEventListener('pointermove', move, { signal });
    this.#frame.addEventListener('pointerup', () => ending.abort(), { signal });
    this.#frame.addEventListener('pointercancel', () => ending.abort(), { signal });
  }

  /** The area after moving a handle; the other sides stay. */
  #pulled({ x, y, w, h: high }: Box, [across, down]: (typeof HANDLES)[number], dx: number, dy: number): Box {
    const side = (from: number, length: number, whole: number, way: number, by: number) => {
      const start = way < 0 ? clamp(from + by, 0, from + length - 1) : from;
      const end = way > 0 ? clamp(from + length + by, from + 1, whole) : from + length;
      return [start, end - start] as const;
    };
    const { width, height } = this.#size;
    const [left, wide] = side(x, w, width, across, dx);
    const [top, tall] = side(y, high, height, down, dy);
    return { x: left, y: top, w: wide, h: tall };
  }

  #press(event: KeyboardEvent): void {
    const step = event.ctrlKey || event.metaKey ? 10 : 1;
    const ways: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, -step],
      ArrowDown: [0, step],
    };
    const way = ways[event.key];
    if (way === undefined) return;
    event.preventDefault();
    const [dx, dy] = way;
    const { x, y, w, h: high } = this.#box;
    this.#set(event.shiftKey ? { x, y, w: w + dx, h: high + dy } : { x: x + dx, y: y + dy, w, h: high });
  }
}
