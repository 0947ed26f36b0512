import type { Dialog, FileBrowser } from './editor.ts';

/**
 * Keeps Escape in a dialog above the file browser, and gives the focus back when it closes. In Jodit 4.15.13
 * Escape closes both, and the focus is lost.
 */
export const closeAlone = (open: () => Dialog, onClosed?: () => void): Dialog => {
  const before = document.activeElement;
  const dialog = open();
  dialog.container.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    dialog.close();
  });
  dialog.e.on(dialog, 'afterClose', () => {
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    onClosed?.();
  });
  return dialog;
};

/**
 * Asks something and resolves to whether the person agreed; closing the dialog is a no. The question is HTML.
 */
export const ask = (browser: FileBrowser, question: string, action: string): Promise<boolean> =>
  new Promise((resolve) => {
    const dialog = closeAlone(
      () => browser.confirm(question, action, resolve),
      () => resolve(false),
    );
    const button = dialog.container.querySelector('.jodit-ui-button_ok .jodit-ui-button__text');
    if (button !== null) button.textContent = action;
  });
