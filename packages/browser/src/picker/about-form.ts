import { button, h } from './dom.ts';
import type { About } from './options.ts';
import type { Texts } from './texts.ts';

/** Changes of a file's description. Absent fields stay, empty ones or null are removed. */
export type AboutChange = { readonly [Key in keyof About]?: About[Key] | null };

const WORDS = ['alt', 'title', 'caption', 'credit'] as const;
/** Maximum length of each field in the connector. */
const MOST = 2000;

type Point = NonNullable<About['focalPoint']>;

/** A form for a file's description, and for the focal point of a picture by pointer and by numbers. */
export class AboutForm {
  readonly fields: readonly HTMLElement[];
  readonly #about: About;
  readonly #words: Readonly<Record<(typeof WORDS)[number] | 'tags', HTMLInputElement | HTMLTextAreaElement>>;
  readonly #across = h('input', { type: 'number', min: 0, max: 100, step: 'any' });
  readonly #down = h('input', { type: 'number', min: 0, max: 100, step: 'any' });
  readonly #mark = h('span', { class: 'handle focal', hidden: true });
  /** The focal point in the displayed number of digits: that of the file may have more. */
  readonly #shown: string;

  /** `stage` contains the picture, if there is one. */
  constructor(about: About, stage: HTMLElement | undefined, { about: texts }: Texts) {
    this.#about = about;
    const short = (value = ''): HTMLInputElement =>
      h('input', { type: 'text', value, maxlength: MOST, dir: 'auto' });
    const long = (value = ''): HTMLTextAreaElement =>
      h('textarea', { rows: 2, maxlength: MOST, dir: 'auto' }, value);
    this.#words = {
      ...{ alt: long(about.alt), title: short(about.title), caption: long(about.caption) },
      ...{ credit: short(about.credit), tags: short(about.tags?.join(', ')) },
    };
    const fields = ([...WORDS, 'tags'] as const).map((key) =>
      h('label', { class: 'field' }, texts[key], this.#words[key]),
    );
    this.fields = stage === undefined ? fields : [...fields, this.#pointOn(stage, texts)];
    this.#shown = this.#numbers;
  }

  /** The changed fields; empty without a change. */
  get change(): AboutChange {
    const change: { -readonly [Key in keyof AboutChange]: AboutChange[Key] } = {};
    for (const key of WORDS) {
      const value = this.#words[key].value.trim();
      if (value !== (this.#about[key] ?? '')) change[key] = value;
    }
    const tags = this.#words.tags.value.split(/[,،、，]/u).map((tag) => tag.trim());
    const named = tags.filter((tag) => tag !== '');
    if (named.join('\n') !== (this.#about.tags ?? []).join('\n')) change.tags = named;
    if (this.#numbers !== this.#shown) change.focalPoint = this.#point ?? null;
    return change;
  }

  get #numbers(): string {
    return `${this.#across.value} ${this.#down.value}`;
  }

  get #point(): Point | undefined {
    const [x, y] = [this.#across, this.#down].map(({ value }) =>
      value === '' ? undefined : Math.min(1, Math.max(0, Number(value) / 100)),
    );
    return x === undefined || y === undefined ? undefined : { x, y };
  }

  #pointOn(stage: HTMLElement, texts: Texts['about']): HTMLElement {
    stage.append(this.#mark);
    this.#show(this.#about.focalPoint);
    const take = ({ clientX, clientY }: PointerEvent): void => {
      const { left, top, width, height } = stage.getBoundingClientRect();
      const share = (part: number, whole: number): number =>
        Math.min(1, Math.max(0, Math.round((1000 * part) / whole) / 1000));
      this.#show({ x: share(clientX - left, width), y: share(clientY - top, height) });
    };
    stage.classList.add('aiming');
    stage.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      stage.setPointerCapture(event.pointerId);
      take(event);
    });
    stage.addEventListener('pointermove', (event) => {
      if (stage.hasPointerCapture(event.pointerId)) take(event);
    });
    for (const field of [this.#across, this.#down])
      field.addEventListener('input', () => this.#show(this.#point, false));
    return h(
      'fieldset',
      { class: 'fields' },
      h('legend', {}, texts.point),
      h('label', {}, texts.across, this.#across),
      h('label', {}, texts.down, this.#down),
      button(texts.noPoint, () => this.#show(undefined)),
    );
  }

  #show(point: Point | undefined, inFields = true): void {
    const percent = (share: number): string => String(Math.round(share * 1000) / 10);
    if (inFields) {
      this.#across.value = point === undefined ? '' : percent(point.x);
      this.#down.value = point === undefined ? '' : percent(point.y);
    }
    this.#mark.hidden = point === undefined;
    if (point === undefined) return;
    this.#mark.style.left = `${percent(point.x)}%`;
    this.#mark.style.top = `${percent(point.y)}%`;
  }
}
