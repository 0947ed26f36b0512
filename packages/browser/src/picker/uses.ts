import { h } from './dom.ts';
import type { Entry, Service } from './service.ts';
import { counted, type Texts } from './texts.ts';

/** A page that uses a file, as the connector's host reports it. */
interface Use {
  readonly title: string;
  readonly url: string;
}

/** Maximum number of files that are checked before an operation on many. */
const MOST = 40;
/** Time limit of the host in milliseconds, so that it does not block the user. */
const PATIENCE = 8000;

/**
 * The pages that use one of these files, each once. Empty if the connector does not know, or does not permit
 * it.
 */
const usesOf = async (service: Service, entries: readonly Entry[]): Promise<readonly Use[]> => {
  const files = entries.filter(({ type }) => type !== 'folder').slice(0, MOST);
  const signal = AbortSignal.timeout(PATIENCE);
  const found = new Map<string, Use>();
  const ask = async (): Promise<void> => {
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      const { permissions } = await service.rightsIn(file);
      if (permissions.allowFileUses !== true) continue;
      const { source, path, name } = file;
      // A file that no longer exists, or for which the host fails, has no known pages.
      const response = await service.client
        .fileUses({ source, path, name }, { signal })
        .catch(() => undefined);
      for (const use of response?.uses ?? []) found.set(`${use.url}\n${use.title}`, use);
    }
  };
  await Promise.all([ask(), ask(), ask(), ask()]);
  return [...found.values()];
};

/** `javascript:` links are not addresses of pages. */
const isAddress = (url: string): boolean =>
  URL.canParse(url, document.baseURI) && /^https?:$/u.test(new URL(url, document.baseURI).protocol);

/** "Shown on 3 pages" with their titles; undefined if no page is known to use these files. */
export const noteOfUses = async (
  service: Service,
  texts: Texts,
  entries: readonly Entry[],
): Promise<HTMLElement | undefined> => {
  const uses = await usesOf(service, entries);
  if (uses.length === 0) return undefined;
  const pages = uses.map(({ title, url }) => {
    const text = title.trim() === '' ? url : title;
    const link = { href: url, target: '_blank', rel: 'noopener noreferrer' };
    return h('li', { dir: 'auto' }, isAddress(url) ? h('a', link, text) : text);
  });
  return h('div', {}, h('p', {}, counted(texts, texts.shownOn, uses.length)), h('ul', {}, ...pages));
};
