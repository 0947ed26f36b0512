import { button, h, iconButton } from './dom.ts';
import type { Texts } from './texts.ts';

/**
 * Duration of a message in milliseconds. With an action it is longer, so that the action can be reached by
 * keyboard.
 */
const STAYS = 6000;
const STAYS_WITH_OFFER = 20_000;
/** Maximum number of messages. */
const MOST = 4;

/** An action of a message. */
export interface Offer {
  readonly label: string;
  readonly run: () => void;
}

/** Short messages at the edge of the window, in live regions. */
export class Notices {
  readonly element: HTMLElement;
  readonly #polite: HTMLElement;
  readonly #urgent: HTMLElement;
  readonly #list: HTMLElement;
  readonly #texts: Texts;
  /** Called to move the focus away from a message that is removed. */
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

  /** Announces a text to screen readers only. */
  speak(text: string): void {
    this.#polite.textContent = text;
  }

  /** Shows and announces a success for a while, with an optional action. */
  tell(text: string, offer?: Offer): void {
    this.#newest = offer;
    this.speak(text);
    this.#show(text, 'success', offer);
  }

  /** Shows and announces a failure. It stays until it is closed, removed or displaced. */
  warn(text: string, offer?: Offer): void {
    this.take(text);
    this.#urgent.textContent = text;
    this.#show(text, 'failure', offer);
  }

  /** Runs the action of the newest success, even if its message is no longer shown. */
  useOffer(): boolean {
    const offer = this.#newest;
    if (offer === undefined) return false;
    const shown = this.#list.querySelectorAll<HTMLElement>('.success .offer');
    this.#newest = undefined;
    [...shown].at(-1)?.closest('.notice')?.remove();
    offer.run();
    return true;
  }

  /** Removes an obsolete message. */
  take(text: string): void {
    for (const notice of [...this.#list.children])
      if (notice.firstChild?.textContent === text) this.#remove(notice);
  }

  #remove(notice: Element): void {
    const hadFocus = notice.matches(':focus-within');
    notice.remove();
    if (hadFocus) this.takeFocus();
  }

  #show(text: string, kind: 'success' | 'failure', offer: Offer | undefined): void {
    const notice: HTMLElement = h(
      'div',
      { class: `notice ${kind}`, part: 'notice' },
      h('span', { dir: 'auto' }, text),
    );
    const end = (): void => this.#remove(notice);
    if (offer !== undefined) {
      const run = (): void => {
        end();
        if (this.#newest === offer) this.#newest = undefined;
        offer.run();
      };
      notice.append(button(offer.label, run, { class: 'button offer' }));
    }
    notice.append(iconButton('close', this.#texts.close, end));
    this.#list.append(notice);
    for (const oldest of [...this.#list.children].slice(0, -MOST)) this.#remove(oldest);
    // A message that is hovered or focused stays.
    const endUnlessUsed = (): void => {
      if (notice.matches(':hover, :focus-within')) setTimeout(endUnlessUsed, STAYS);
      else end();
    };
    if (kind === 'success') setTimeout(endUnlessUsed, offer === undefined ? STAYS : STAYS_WITH_OFFER);
  }
}
