import type { HeadersOption } from './editor.ts';

/** Address and options of the connector, and options for inserted pictures. */
export interface Connection {
  /** URL of the mount: `/connector`, `https://files.example.com/`. */
  readonly url: string | URL;
  /** Sent with every request, such as a token. A function is called before each request. */
  readonly headers?: HeadersOption | undefined;
  /** `include`: cookies are sent to a connector on another origin. Default: `same-origin`. */
  readonly credentials?: 'same-origin' | 'include' | undefined;
  /**
   * Language tag of Jodit's texts and of the connector's messages: `de`, `zh-CN`. Default: that of the page
   * (`<html lang>`), else of the browser.
   */
  readonly language?: string | undefined;
  /** Names of the sources that the picker shows; default: all. */
  readonly sources?: readonly string[] | undefined;
  readonly pictures?:
    | {
        /**
         * Sets `width` and `height` of inserted pictures, so that the page does not shift while they load.
         * Default: true.
         */
        readonly size?: boolean | undefined;
        /**
         * Sets `srcset` of inserted pictures from the source's `imagePresets`, so that a page loads no larger
         * picture than it shows: these presets, or all that keep the aspect ratio. Needs a source that serves
         * its files; costs a request for each inserted picture. Default: none.
         */
        readonly srcset?: true | readonly string[] | undefined;
      }
    | undefined;
}

/** The URL with exactly one trailing slash. */
export const urlOf = ({ url }: Connection): string => String(url).replace(/\/*$/u, '/');

/** The headers of each request: those of the host, and the language of messages. */
export const headersOf = ({ headers }: Connection, language: string): HeadersOption => {
  const own = { 'Accept-Language': language.replaceAll('_', '-') };
  return typeof headers === 'function'
    ? async () => ({ ...own, ...(await headers()) })
    : { ...own, ...headers };
};
