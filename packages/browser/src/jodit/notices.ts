import type { MessageBox } from './editor.ts';
import { make, makeButton } from './element.ts';
import type { Texts } from './texts/texts.ts';

/** Milliseconds that a message stays, unless the pointer or the focus is on it. */
const STAYS = { error: 10_000, other: 5000 };

/** Messages on the screen at the same time. */
const MOST = 4;

/** How long a message stays at least, and what can be done about what it says. */
export interface NoticeOptions {
  readonly milliseconds?: number | undefined;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

/** Messages at the edge of the window, above all dialogs. */
export interface Notices {
  /** The stack of messages; also the home of uploads that no dialog shows. */
  readonly element: HTMLElement;
  show(text: string, kind: string, options?: NoticeOptions): void;
  /** Takes everything off the screen. */
  remove(): void;
}

const keepWhileUsed = (notice: HTMLElement, milliseconds: number, remove: () => void): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => clearTimeout(timer);
  const start = (): void => {
    stop();
    timer = setTimeout(remove, milliseconds);
  };
  for (const event of ['pointerenter', 'focusin']) notice.addEventListener(event, stop);
  for (const event of ['pointerleave', 'focusout']) notice.addEventListener(event, start);
  start();
  return start;
};

/** Holds the messages of all editors of a page, one below the other. */
const stackIn = (root: ParentNode & Node): HTMLElement => {
  const present = [...root.children].find(({ className }) => className === 'stowage-notice-stack');
  if (present instanceof HTMLElement) return present;
  const stack = make('div', 'stowage-notice-stack');
  root.appendChild(stack);
  return stack;
};

/**
 * Jodit 4.15.13 shows messages at the lower edge of the editor, which may be below the window or behind the
 * file browser, for three seconds and to eyes alone. These are at the edge of the window, and in live regions
 * that were there before their text, as screen readers want it.
 */
export const createNotices = (root: ParentNode & Node, texts: Texts): Notices => {
  const live = {
    alert: make('div', '', { attributes: { role: 'alert' } }),
    status: make('div', '', { attributes: { role: 'status' } }),
  };
  const element = make('div', 'stowage-notices', {
    attributes: { dir: texts.direction, lang: texts.locale },
    children: [live.alert, live.status],
  });
  const stack = stackIn(root);
  stack.append(element);
  const shown = new Map<string, { readonly notice: HTMLElement; readonly again: () => void }>();

  const take = (key: string): void => {
    shown.get(key)?.notice.remove();
    shown.delete(key);
  };

  return {
    element,
    show: (text, kind, { milliseconds = 0, action } = {}) => {
      if (text.trim() === '') return;
      const isError = kind === 'error';
      const key = `${kind} ${text}`;
      const old = shown.get(key);
      if (old !== undefined && action === undefined) return old.again();
      take(key);
      for (const first of [...shown.keys()].slice(0, Math.max(0, shown.size + 1 - MOST))) take(first);
      const close = makeButton('stowage-notice__close', () => take(key), {
        text: '×',
        attributes: { 'aria-label': texts.close },
      });
      const notice = make('div', `stowage-notice stowage-notice_${isError ? 'error' : kind}`, {
        children: [make('span', 'stowage-notice__text', { text }), close],
      });
      if (action !== undefined) {
        const act = (): void => {
          take(key);
          action.run();
        };
        close.before(makeButton('stowage-notice__action', act, { text: action.label }));
      }
      live[isError ? 'alert' : 'status'].append(notice);
      const stays = Math.max(milliseconds, isError ? STAYS.error : STAYS.other);
      shown.set(key, { notice, again: keepWhileUsed(notice, stays, () => take(key)) });
    },
    remove: () => {
      for (const key of [...shown.keys()]) take(key);
      element.remove();
      if (stack.childElementCount === 0) stack.remove();
    },
  };
};

/** What replaces a view's own messages. Jodit's word for a network failure gets a sentence. */
export const messageBox = (notices: Notices, texts: Texts): MessageBox => {
  const show = (text: string, kind = 'info', milliseconds?: number): void => {
    const words = text === 'Connection error' ? texts.unreachable : text.replace(/^Error: /u, '');
    notices.show(words, kind, { milliseconds });
  };
  return {
    message: show,
    info: (text, timeout) => show(text, 'info', timeout),
    success: (text, timeout) => show(text, 'success', timeout),
    error: (text, timeout) => show(text, 'error', timeout),
    destruct: () => notices.remove(),
  };
};
