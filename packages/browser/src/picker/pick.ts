import type { CallOptions } from '../client/index.ts';
import { h, isComposing } from './dom.ts';
import { refuseFiles } from './drops.ts';
import { definePicker } from './element.ts';
import type { PickedFile, PickerOptions } from './options.ts';
import dialogStyles from './pick.css';
import { styledShadow } from './styles.ts';
import { languageFor, loadTexts } from './texts.ts';

/** Events of the dialog that must not reach the page behind it. */
const KEPT = [
  ...['keydown', 'keyup', 'keypress', 'pointerdown', 'mousedown', 'touchstart', 'click', 'focusin'],
  ...['wheel', 'touchmove'],
];

/**
 * Gives Escape to the dialog alone: dialogs of other libraries listen at the document, before its elements.
 * Left to the browser, a second Escape without another action would close it without an event to prevent.
 */
const escapeIn =
  (host: HTMLElement, dialog: HTMLDialogElement) =>
  (event: KeyboardEvent): void => {
    const path = event.composedPath();
    if (event.key !== 'Escape' || !path.includes(host)) return;
    event.stopImmediatePropagation();
    if (isComposing(event)) return event.preventDefault();
    // Does not leave the shadow root of its target, as a KeyboardEvent would in Firefox.
    const own = Object.assign(new Event('keydown', { bubbles: true, cancelable: true }), { key: event.key });
    if (path[0]?.dispatchEvent(own) !== false) {
      const isInner = path.find((target) => target instanceof HTMLDialogElement) !== dialog;
      if (isInner) return;
      dialog.dispatchEvent(new Event('cancel'));
    }
    event.preventDefault();
  };

/**
 * Opens the files of a connector in a dialog. Resolves to the picked files, and to an empty list when the
 * dialog is closed by the user or the signal. The focus returns to its former element.
 */
export const pickFiles = async (
  options: PickerOptions,
  { signal }: CallOptions = {},
): Promise<readonly PickedFile[]> => {
  if (signal?.aborted === true) return [];
  definePicker();
  const picker = document.createElement('stowage-picker');
  picker.options = options;
  const dialog = h('dialog', {}, picker);
  const host = h('div');
  styledShadow(host, dialogStyles).append(dialog);
  const texts = options.texts ?? loadTexts(languageFor(options.language));
  void Promise.resolve(texts).then(({ title }) => dialog.setAttribute('aria-label', title));
  // Dialogs of the page behind close by Escape and by a press outside of them, and keep others from scrolling.
  for (const type of KEPT) host.addEventListener(type, (event) => event.stopPropagation(), { passive: true });
  const escape = escapeIn(host, dialog);
  addEventListener('keydown', escape, { capture: true });
  // Files that are dropped beside the dialog land on its backdrop.
  dialog.addEventListener('dragover', refuseFiles);
  document.body.append(host);
  return new Promise((resolve) => {
    let files: readonly PickedFile[] = [];
    const end = async (event: Event): Promise<void> => {
      // Escape, and the back gesture of a telephone, would close the dialog.
      event.preventDefault();
      if (!(await picker.mayClose())) return;
      files = (event as CustomEvent<{ files: readonly PickedFile[] } | null>).detail?.files ?? [];
      dialog.close();
    };
    // Those of the picker do not bubble.
    for (const target of [picker, dialog])
      for (const type of ['pick', 'cancel']) target.addEventListener(type, (event) => void end(event));
    picker.addEventListener('ready', () => picker.focus(), { once: true });
    const close = (): void => dialog.close();
    signal?.addEventListener('abort', close);
    dialog.addEventListener('close', () => {
      signal?.removeEventListener('abort', close);
      removeEventListener('keydown', escape, { capture: true });
      host.remove();
      resolve(files);
    });
    dialog.showModal();
  });
};

/**
 * Writes the link of a picked file into a form field, and fires its events. Undefined when nothing was
 * picked.
 */
export const pickInto = async (
  field: HTMLInputElement | HTMLTextAreaElement,
  options: PickerOptions,
): Promise<PickedFile | undefined> => {
  const [file] = await pickFiles({ ...options, several: false });
  if (file === undefined) return undefined;
  // With the prototype's setter, like user input: React would treat a value from the field's own setter as
  // already known, and revert it.
  Reflect.set(Reflect.getPrototypeOf(field) ?? field, 'value', file.url, field);
  field.dispatchEvent(new CustomEvent('input', { bubbles: true }));
  field.dispatchEvent(new CustomEvent('change', { bubbles: true }));
  return file;
};
