import { make } from './element.ts';

/** Milliseconds without a key after which a text is searched for. */
const PAUSE = 250;

/** The connector takes no longer words. */
const MOST_LETTERS = 400;

/** What a person does in the field. */
export interface FieldEvents {
  readonly onText: (text: string) => void;
  /** Enter or the arrow down: on to what was found. */
  readonly onLeave: () => void;
  /** Escape; false where there was nothing to be ended. */
  readonly onEscape: () => boolean;
}

/** The field in the toolbar of the file browser. */
export interface SearchField {
  readonly element: HTMLInputElement;
  readonly rename: (label: string) => void;
  /** Empties it, without an event. */
  readonly clear: () => void;
}

/** A field that tells its text when the person pauses, and at once with Enter. */
export const createSearchField = ({ onText, onLeave, onEscape }: FieldEvents): SearchField => {
  const attributes = { type: 'search', maxlength: String(MOST_LETTERS), autocomplete: 'off' };
  const element = make('input', 'jodit-input stowage-field', { attributes });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    onText(element.value.trim());
  };
  const wait = (): void => {
    clearTimeout(timer);
    timer = setTimeout(tell, element.value.trim() === '' ? 0 : PAUSE);
  };
  element.addEventListener('input', (event) => {
    // Half a syllable of an input method is not searched for.
    if (!(event instanceof InputEvent && event.isComposing)) wait();
  });
  element.addEventListener('compositionend', wait);
  element.addEventListener('keydown', (event) => {
    if (event.isComposing) return;
    const isOn = event.key === 'Enter' || event.key === 'ArrowDown';
    if (isOn) {
      if (timer !== undefined) tell();
      onLeave();
    } else if (event.key !== 'Escape' || !onEscape()) return;
    event.preventDefault();
    // Else the dialog would close.
    event.stopPropagation();
  });
  return {
    element,
    rename: (label) => {
      element.placeholder = label;
      element.setAttribute('aria-label', label);
    },
    clear: () => {
      clearTimeout(timer);
      timer = undefined;
      element.value = '';
    },
  };
};
