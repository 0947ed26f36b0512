import { languageFor } from '../picker/texts.ts';
import { readableRequests, readableStatuses } from './answers.ts';
import { attach } from './attach.ts';
import { type Connection, headersOf, urlOf } from './connection.ts';
import type { Editor, HeadersOption } from './editor.ts';

/** The options that this module sets; all others stay as given. */
export interface JoditConfig {
  readonly language: string;
  readonly direction: 'ltr' | 'rtl' | '';
  readonly filebrowser: {
    readonly ajax: { readonly url: string; readonly method: string; readonly headers: HeadersOption };
  };
  readonly uploader: { readonly url: string; readonly data: object; readonly headers: HeadersOption };
  readonly events: Record<string, (...values: never[]) => unknown>;
}

/** Given options that are merged with ours instead of replaced. */
interface GivenOptions {
  readonly language?: string | undefined;
  readonly direction?: 'ltr' | 'rtl' | '' | undefined;
  readonly filebrowser?: { readonly ajax?: object | undefined } | undefined;
  readonly uploader?: { readonly data?: object | undefined } | undefined;
  readonly events?: Record<string, (...values: never[]) => unknown> | undefined;
}

/** Jodit's name of a language: `de`, `zh_cn`, `pt_br`. */
const joditLanguage = (tag: string): string => {
  const [base = 'en', ...rest] = tag.toLowerCase().split(/[-_]/u);
  if (base === 'zh') return rest.includes('tw') || rest.includes('hant') ? 'zh_tw' : 'zh_cn';
  return { pt: 'pt_br', cs: 'cs_cz', uk: 'ua' }[base] ?? base;
};

const isRightToLeft = (tag: string): boolean => /^(?:ar|fa|he|ur)\b/iu.test(tag);

/** Options for the requests that Jodit itself sends: it edits pictures of the text. */
const browserOptions = (
  connection: Connection,
  { language, direction }: { readonly language: string; readonly direction: JoditConfig['direction'] },
  headers: HeadersOption,
) => ({
  // Jodit 4.15.13 passes the direction to the dialogs of the editor, but not to the one for editing a
  // picture.
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
 * editors. Pass your own options as the second argument, so that events and parts of `filebrowser` and
 * `uploader` are merged.
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
  // The given options have Jodit's types, which this module does not import.
  return {
    ...options,
    language: joditLanguage(language),
    direction,
    filebrowser: { ...browser, ...given.filebrowser, ajax: { ...browser.ajax, ...given.filebrowser?.ajax } },
    uploader: {
      // The action is sent in the form: the editor sends remote uploads to the same URL, with another action.
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
