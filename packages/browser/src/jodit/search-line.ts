import { make, makeButton, nameForReaders } from './element.ts';
import type { Sources } from './sources.ts';
import { counted, fill, type Texts } from './texts/texts.ts';
import type { Location } from './trash.ts';

/** Folders that the line shows; more of them say less than another word would. */
const MOST_FOLDERS = 40;

/** What the line says of a search. */
export interface SearchReport {
  readonly words: string;
  readonly count: number;
  readonly hasMore: boolean;
  readonly folders: readonly Location[];
  readonly messages: readonly string[];
}

/** What can be done from the line. */
export interface LineActions {
  readonly openFolder: (folder: Location) => void;
  /** Opens the folder of the selected file. */
  readonly openSelected: () => void;
  readonly changeScope: () => void;
  readonly more: () => void;
  readonly end: () => void;
}

/** What stands around the files that a search has found. */
export interface SearchLine {
  /** Above the files. */
  readonly element: HTMLElement;
  /** Below the files. */
  readonly more: HTMLButtonElement;
  /** Heard by screen readers; it must be there before its text. */
  readonly live: HTMLElement;
  readonly isHere: () => boolean;
  /** Begins a search; `here` is the open folder, undefined where it is all there is. */
  readonly begin: (here: string | undefined) => void;
  readonly report: (report: SearchReport) => void;
  /** The search has come to nothing, for a reason that has been said. */
  readonly fail: () => void;
  readonly setSelected: (isOne: boolean) => void;
  /** The search is over. */
  readonly finish: () => void;
}

const sayingOf = (texts: Texts, { words, count, hasMore, folders, messages }: SearchReport): string => {
  const { search } = texts;
  const all = count + folders.length;
  const nothing = fill(hasMore ? search.nothingSoFar : search.nothing, { query: words });
  const found = all === 0 ? nothing : counted(texts, hasMore ? search.foundSoFar : search.found, all);
  return [found, ...messages].join(' ');
};

const scopesOf = ({ search }: Texts, here: string | undefined): readonly HTMLElement[] => {
  const option = (value: string, text: string): HTMLElement =>
    make('option', '', { text, attributes: { value } });
  const all = option('', search.everywhere);
  return here === undefined ? [all] : [all, option('here', here)];
};

/** Makes the line. */
export const createSearchLine = (
  browser: HTMLElement,
  texts: Texts,
  sources: Sources,
  actions: LineActions,
): SearchLine => {
  const { search } = texts;
  const count = make('span', 'stowage-search__count', { attributes: { 'aria-hidden': 'true' } });
  const live = make('div', 'stowage-hidden', { attributes: { role: 'status' } });
  const scope = make('select', 'stowage-search__scope');
  scope.addEventListener('change', actions.changeScope);
  nameForReaders(scope, browser, search.within);
  const open = makeButton('stowage-button', actions.openSelected, { text: search.open });
  const end = makeButton('stowage-button', actions.end, { text: search.end });
  const folders = make('div', 'stowage-search__folders', { attributes: { role: 'group' } });
  nameForReaders(folders, browser, search.folders);
  const element = make('div', 'stowage-search', { children: [count, scope, open, end, folders] });
  const more = makeButton('stowage-button stowage-search__more', actions.more, { text: search.more });
  more.hidden = true;

  const say = (text: string): void => [count, live].forEach((one) => (one.textContent = text));
  return {
    element,
    more,
    live,
    isHere: () => scope.value === 'here',
    begin: (here) => {
      const value = here === undefined ? '' : scope.value;
      scope.replaceChildren(...scopesOf(texts, here));
      scope.value = value;
      scope.hidden = here === undefined;
      count.textContent = search.running;
      more.hidden = true;
    },
    report: (report) => {
      say(sayingOf(texts, report));
      const shown = report.folders.slice(0, MOST_FOLDERS).map((folder) =>
        makeButton('stowage-search__folder', () => actions.openFolder(folder), {
          text: sources.folderText(folder.source, `${folder.path}/${folder.name}`),
        }),
      );
      folders.replaceChildren(...shown);
      folders.hidden = shown.length === 0;
      more.hidden = !report.hasMore;
    },
    fail: () => {
      say('');
      folders.hidden = true;
    },
    setSelected: (isOne) => {
      open.disabled = !isOne;
    },
    finish: () => {
      say('');
      scope.value = '';
      more.hidden = true;
    },
  };
};
