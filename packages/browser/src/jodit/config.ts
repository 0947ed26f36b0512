import { languageFor } from '../picker/texts.ts';
import { readableRequests, readableStatuses } from './answers.ts';
import { attach } from './attach.ts';
import { type Connection, headersOf, urlOf } from './connection.ts';
import type { Editor, HeadersOption } from './editor.ts';

/** The options of an editor that this room sets; all others are as they were given. */
export interface JoditConfig {
  readonly language: string;
  readonly direction: 'ltr' | 'rtl' | '';
  readonly filebrowser: {
    readonly ajax: { readonly url: string; readonly method: string; readonly headers: HeadersOption };
  };
  readonly uploader: { readonly url: string; readonly data: object; readonly headers: HeadersOption };
  readonly events: Record<string, (...values: never[]) => unknown>;
}

/** What of the given options is joined with ours instead of replaced by it. */
interface GivenOptions {
  readonly language?: string | undefined;
  readonly direction?: 'ltr' | 'rtl' | '' | undefined;
  readonly filebrowser?: { readonly ajax?: object | undefined } | undefined;
  readonly uploader?: { readonly data?: object | undefined } | undefined;
  readonly events?: Record<string, (...values: never[]) => unknown> | undefined;
}

/** The language as Jodit names its translations: `de`, `zh_cn`, `pt_br`. */
const joditLanguage = (tag: string): string => {
  const [base = 'en', ...rest] = tag.toLowerCase().split(/[-_]/u);
  if (base === 'zh') return rest.includes('tw') || rest.includes('hant') ? 'zh_tw' : 'zh_cn';
  return { pt: 'pt_br', cs: 'cs_cz', uk: 'ua' }[base] ?? base;
};

const isRightToLeft = (tag: string): boolean => /^(?:ar|fa|he|ur)\b/iu.test(tag);

/** Options for what Jodit still asks by itself: it edits pictures of the text. */
const browserOptions = (
  connection: Connection,
  { language, direction }: { readonly language: string; readonly direction: JoditConfig['direction'] },
  headers: HeadersOption,
) => ({
  // Jodit 4.15.13 hands the direction on to the dialogs of the editor, not to that of a picture.
  direction,
  ajax: {
    url: urlOf(connection),
    method: 'POST',
    headers,
    withCredentials: connection.credentials === 'include',
    successStatuses: readableStatuses,
    xhr: readableRequests(language),
  },
});

/**
 * The options of an editor for `Jodit.make`, `jodit-react` and the like; one object may serve several
 * editors. Options of your own go in as the second argument, so that events and parts of `filebrowser` and
 * `uploader` are joined.
 */
export const joditConfig = <Options extends object = object>(
  connection: Connection,
  options?: Options,
): Omit<Options, keyof JoditConfig> & JoditConfig => {
  const given: GivenOptions = options ?? {};
  const language = languageFor(connection.language ?? given.language);
  const headers = headersOf(connection, language);
  const direction = given.direction ?? (isRightToLeft(language) ? 'rtl' : '');
  const browser = browserOptions(connection, { language, direction }, headers);
  const attached = new WeakSet<object>();
  const afterInit = given.events?.['afterInit'];
  // The types of the given options are those of Jodit, which this room does not import.
  return {
    ...options,
    language: joditLanguage(language),
    direction,
    filebrowser: { ...browser, ...given.filebrowser, ajax: { ...browser.ajax, ...given.filebrowser?.ajax } },
    uploader: {
      // The action belongs into the form: the editor sends remote uploads to the same URL, with another.
      url: urlOf(connection),
      headers,
      withCredentials: connection.credentials === 'include',
      ...given.uploader,
      data: { action: 'fileUpload', ...given.uploader?.data },
    },
    events: {
      ...given.events,
      afterInit: (editor: Editor, ...rest: never[]): unknown => {
        // Jodit 4.15.13 attaches the events of its options twice.
        if (!attached.has(editor)) {
          attached.add(editor);
          attach(editor, connection, language);
        }
        return afterInit?.(...([editor, ...rest] as never[]));
      },
    },
  } as unknown as Omit<Options, keyof JoditConfig> & JoditConfig;
};
