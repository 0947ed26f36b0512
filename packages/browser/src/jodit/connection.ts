import type { HeadersOption } from './editor.ts';

/** How the editor reaches the connector, and what it does with what comes from there. */
export interface Connection {
  /** Where the connector is mounted: `/connector`, `https://files.example.com/`. */
  readonly url: string | URL;
  /** Sent with every request, such as a token. A function is asked before each. */
  readonly headers?: HeadersOption | undefined;
  /** `include`: cookies travel to a connector on another origin. Default: `same-origin`. */
  readonly credentials?: 'same-origin' | 'include' | undefined;
  /**
   * Language tag of the texts, of Jodit's and of the connector's messages: `de`, `zh-CN`. Default: that of
   * the page (`<html lang>`), else of the browser.
   */
  readonly language?: string | undefined;
  /** Names of the sources that the picker shows; all when absent. */
  readonly sources?: readonly string[] | undefined;
  readonly pictures?:
    | {
        /**
         * Gives inserted pictures a `width` and a `height`, so that the page does not move while they load.
         * Default: true.
         */
        readonly size?: boolean | undefined;
        /**
         * Gives inserted pictures a `srcset` of the source's `imagePresets`, so that a page loads no larger
         * picture than it shows: these presets, or all that keep the picture's shape. Needs a source that
         * serves its files; costs a request for each inserted picture. Default: none.
         */
        readonly srcset?: true | readonly string[] | undefined;
      }
    | undefined;
}

/** The URL with one slash at its end. */
export const urlOf = ({ url }: Connection): string => String(url).replace(/\/*$/u, '/');

/** The headers of each request: those of the host, and the language for the messages of the connector. */
export const headersOf = ({ headers }: Connection, language: string): HeadersOption => {
  const own = { 'Accept-Language': language.replaceAll('_', '-') };
  return typeof headers === 'function'
    ? async () => ({ ...own, ...(await headers()) })
    : { ...own, ...headers };
};
