import { h, iconButton } from './dom.ts';
import type { Texts } from './texts.ts';

/** How long a message stays, in milliseconds. One with an offer stays as long as there is time for it. */
const STAYS = 6000;
const STAYS_WITH_OFFER = 12_000;
/** Messages that are shown at once. */
const MOST = 4;

/** What a message offers. */
export interface Offer {
  readonly label: string;
  readonly run: () => void;
}

/** Short messages at the edge of the window, which readers of screens speak. */
export class Notices {
  readonly element: HTMLElement;
  readonly #polite: HTMLElement;
  readonly #urgent: HTMLElement;
  readonly #list: HTMLElement;
  readonly #texts: Texts;
  readonly #takeFocus: () => void;

  constructor(
    texts: Texts,
    /** Takes the focus from a message that goes. */
    takeFocus: () => void,
  ) {
    this.#texts = texts;
    this.#takeFocus = takeFocus;
    this.#polite = h('div', { role: 'status', class: 'unseen' });
    this.#urgent = h('div', { role: 'alert', class: 'unseen' });
    this.#list = h('div', { class: 'notices', part: 'notices' });
    this.element = h('div', {}, this.#polite, this.#urgent, this.#list);
  }

  /** Speaks without showing. */
  speak(text: string): void {
    this.#polite.textContent = text;
  }

  /** Shows and speaks a success, for a while, with what can be done about it. */
  tell(text: string, offer?: Offer): void {
    this.speak(text);
    this.#show(text, 'success', offer);
  }

  /** Shows and speaks a failure. It stays until it is closed, or pushed out. */
  warn(text: string): void {
    this.#urgent.textContent = text;
    this.#show(text, 'failure', undefined);
  }

  clear(): void {
    this.#list.replaceChildren();
  }

  #show(text: string, kind: 'success' | 'failure', offer: Offer | undefined): void {
    const notice: HTMLElement = h(
      'div',
      { class: `notice ${kind}`, part: 'notice' },
      h('span', { dir: 'auto' }, text),
    );
    const end = (): void => {
      const hadFocus = notice.matches(':focus-within');
      notice.remove();
      if (hadFocus) this.#takeFocus();
    };
    if (offer !== undefined) {
      const run = (): void => {
        end();
        offer.run();
      };
      notice.append(
        h('button', { type: 'button', class: 'button offer', part: 'button', onclick: run }, offer.label),
      );
    }
    notice.append(iconButton('close', this.#texts.close, end));
    while (this.#list.children.length >= MOST) this.#list.firstChild?.remove();
    this.#list.append(notice);
    if (kind === 'success') setTimeout(end, offer === undefined ? STAYS : STAYS_WITH_OFFER);
  }
}
