import { h } from '../picker/dom.ts';
import { Notices } from '../picker/notices.ts';
import type { Service } from '../picker/service.ts';
import { styledShadow } from '../picker/styles.ts';
import { loadTexts, type Texts } from '../picker/texts.ts';
import { Uploads } from '../picker/uploads.ts';
import type { Editor, MessageBox } from './editor.ts';

/** Messages and running uploads of an editor, at the edge of the window. */
export interface Surface {
  readonly texts: Texts;
  readonly notices: Notices;
  readonly uploads: Uploads;
  /** Returns what brings the focus back to an element here: Jodit takes it into the text with what it inserts. */
  readonly holdFocus: () => () => void;
  /** Removes all elements. */
  readonly remove: () => void;
}

/** The container for all editors of a page, one below the other. */
const stackIn = (root: ParentNode & Node): HTMLElement => {
  const present = [...root.children].find(({ className }) => className === 'stowage-notice-stack');
  if (present instanceof HTMLElement) return present;
  const stack = h('div', { class: 'stowage-notice-stack' });
  root.appendChild(stack);
  return stack;
};

/**
 * Jodit 4.15.13 shows messages at the lower edge of the editor, which may be outside of the window, for three
 * seconds and only visually, and the progress of an upload as a line of two pixels. This surface is at the
 * edge of the window and in live regions, above all dialogs.
 */
export const openSurface = async (
  { o }: Editor,
  service: Service,
  language: string,
  theme: string | undefined,
): Promise<Surface> => {
  const texts = await loadTexts(language);
  const stack = stackIn(o.popupRoot ?? o.shadowRoot ?? document.body);
  const host = h('div', { class: 'stowage-notices', theme });
  const root = styledShadow(host);
  const notices = new Notices(texts, () => undefined);
  const uploads = new Uploads(service, notices, texts, () => undefined);
  root.append(
    h('div', { class: 'edge', dir: texts.direction, lang: texts.locale }, notices.element, uploads.element),
  );
  stack.append(host);
  const holdFocus = (): (() => void) => {
    const focused = root.activeElement;
    return () => {
      if (focused instanceof HTMLElement) focused.focus();
    };
  };
  const remove = (): void => {
    uploads.close();
    host.remove();
    if (stack.childElementCount === 0) stack.remove();
  };
  return { texts, notices, uploads, holdFocus, remove };
};

/** Replaces an editor's own messages. Jodit's word for a network failure is replaced by a sentence. */
export const messageBox = (surface: Promise<Surface>): MessageBox => {
  const show = (text: string, kind = 'info'): void => {
    if (text.trim() === '') return;
    void surface.then(({ notices, texts }) => {
      const words = text === 'Connection error' ? texts.trouble.unreachable : text.replace(/^Error: /u, '');
      if (kind === 'error') notices.warn(words);
      else notices.tell(words);
    });
  };
  return {
    message: show,
    info: (text) => show(text),
    success: (text) => show(text),
    error: (text) => show(text, 'error'),
    destruct: () => void surface.then(({ remove }) => remove()),
  };
};
