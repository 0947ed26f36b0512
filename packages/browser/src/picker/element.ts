import type { PickedFile, PickerOptions } from './options.ts';
import { Picker } from './picker.ts';
import { styledShadow } from './styles.ts';
import { languageFor, loadTexts } from './texts.ts';

const NAME = 'stowage-picker';

declare global {
  interface HTMLElementTagNameMap {
    [NAME]: StowagePicker;
  }
}

/** The module can be imported during server-side rendering; then nothing is defined. */
const Base =
  (globalThis as { readonly HTMLElement?: typeof HTMLElement }).HTMLElement ??
  (class {} as typeof HTMLElement);

type PickEvent = CustomEvent<{ readonly files: readonly PickedFile[] }>;
type ListenToPick = (type: 'pick', listener: (event: PickEvent) => void) => void;

/**
 * `<stowage-picker url="/connector">`: the files of a connector in a page. Attributes: `url`, `sources`
 * (names with commas), `types="image"`, `several`, `theme` (`light` or `dark`; default: that of the system),
 * `lang`. Values that attributes cannot hold, such as headers, are set as `options`. Fires `ready`, `pick`
 * with `detail.files`, and `cancel`.
 */
export class StowagePicker extends Base {
  static readonly observedAttributes = ['url', 'sources', 'types', 'several', 'lang'];
  declare readonly addEventListener: ListenToPick & HTMLElement['addEventListener'];
  readonly #root = styledShadow(this);
  #picker: Picker | undefined;
  #options: Partial<PickerOptions> = {};
  #isPlanned = false;
  /** Identifies the latest picker: an earlier one whose texts load later is discarded. */
  #making: object | undefined;

  /** Options beyond attributes; they take precedence. */
  set options(options: Partial<PickerOptions>) {
    this.#options = options;
    this.#plan();
  }

  get options(): Partial<PickerOptions> {
    return this.#options;
  }

  connectedCallback(): void {
    // Frameworks may have set the property before the element was defined: it would hide the setter.
    if (Object.hasOwn(this, 'options')) {
      const { options } = this;
      Reflect.deleteProperty(this, 'options');
      this.options = options;
    }
    this.#plan();
  }

  disconnectedCallback(): void {
    this.#picker?.close();
    this.#picker = undefined;
  }

  attributeChangedCallback(): void {
    this.#plan();
  }

  /** Several attributes that change together create one new picker. */
  #plan(): void {
    if (this.#isPlanned || !this.isConnected) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      void this.#make();
    });
  }

  async #make(): Promise<void> {
    const url = this.#options.url ?? this.getAttribute('url');
    if (url === null || !this.isConnected) return;
    const [own, making] = [this.#options, {}];
    this.#making = making;
    const language = languageFor(own.language ?? this.closest<HTMLElement>('[lang]')?.lang);
    const texts = own.texts ?? (await loadTexts(language));
    if (!this.isConnected || this.#isPlanned || making !== this.#making) return;
    this.#picker?.close();
    if (own.theme !== undefined) this.setAttribute('theme', own.theme);
    const names = this.getAttribute('sources');
    const options: PickerOptions = {
      sources: names === null ? undefined : names.split(',').map((name) => name.trim()),
      types: this.getAttribute('types') === 'image' ? 'image' : undefined,
      several: this.hasAttribute('several'),
      language,
      ...own,
      url,
    };
    const picker = new Picker(options, texts, (files) => this.#ended(files));
    this.#root.append(picker.element);
    this.#picker = picker;
    this.dispatchEvent(new CustomEvent('ready'));
  }

  #ended(files: readonly PickedFile[] | undefined): void {
    this.dispatchEvent(new CustomEvent(files ? 'pick' : 'cancel', { detail: files && { files } }));
  }

  /**
   * Whether a page may remove the element: if that cancels uploads, the user is asked. `pickFiles` does this.
   */
  mayClose(): boolean | Promise<boolean> {
    return this.#picker?.mayClose() ?? true;
  }

  override focus(): void {
    this.#picker?.focus();
  }
}

/** Registers `<stowage-picker>`, once; does nothing during server-side rendering. */
export const definePicker = (): void => {
  if (typeof customElements === 'undefined') return;
  if (customElements.get(NAME) === undefined) customElements.define(NAME, StowagePicker);
};
