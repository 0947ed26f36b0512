import { button, h, iconButton } from './dom.ts';
import type { Texts } from './texts.ts';

/** How long a message stays, in milliseconds. One with an offer leaves time to reach it by keys. */
const STAYS = 6000;
const STAYS_WITH_OFFER = 20_000;
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
  /** Takes the focus from something that goes. */
  readonly takeFocus: () => void;
  #newest: Offer | undefined;

  constructor(texts: Texts, takeFocus: () => void) {
    this.#texts = texts;
    this.takeFocus = takeFocus;
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
    this.#newest = offer;
    this.speak(text);
    this.#show(text, 'success', offer);
  }

  /** Shows and speaks a failure. It stays until it is closed, taken away or pushed out. */
  warn(text: string, offer?: Offer): void {
    this.take(text);
    this.#urgent.textContent = text;
    this.#show(text, 'failure', offer);
  }

  /** Does what the newest success offers, whether its message is still shown or not. */
  useOffer(): boolean {
    const offer = this.#newest;
    if (offer === undefined) return false;
    const shown = this.#list.querySelectorAll<HTMLElement>('.success .offer');
    this.#newest = undefined;
    [...shown].at(-1)?.closest('.notice')?.remove();
    offer.run();
    return true;
  }

  /** Takes away what is not true any more. */
  take(text: string): void {
    for (const notice of this.#list.children) if (notice.firstChild?.textContent === text) notice.remove();
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
      if (hadFocus) this.takeFocus();
    };
    if (offer !== undefined) {
      const run = (): void => {
        end();
        if (this.#newest === offer) this.#newest = undefined;
        offer.run();
      };
      notice.append(button(offer.label, run, { class: 'button offer' }));
    }
    notice.append(iconButton('close', this.#texts.close, end));
    while (this.#list.children.length >= MOST) this.#list.firstChild?.remove();
    this.#list.append(notice);
    // What is being read or reached for stays.
    const endUnlessUsed = (): void => {
      if (notice.matches(':hover, :focus-within')) setTimeout(endUnlessUsed, STAYS);
      else end();
    };
    if (kind === 'success') setTimeout(endUnlessUsed, offer === undefined ? STAYS : STAYS_WITH_OFFER);
  }
}
