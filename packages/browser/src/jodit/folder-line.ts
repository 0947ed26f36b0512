import type { FileBrowser } from './editor.ts';
import { make, makeButton } from './element.ts';
import type { Texts } from './texts/texts.ts';

/**
 * A line above the files that says which folder is open, each part a way back. Jodit 4.15.13 shows the
 * folders in the open one, and nowhere its own name.
 */
export const showCurrentFolder = ({ state, container }: FileBrowser, texts: Texts): void => {
  const line = make('nav', 'stowage-folder', { attributes: { 'aria-label': texts.folder } });
  container.prepend(line);

  const goTo = (path: string, source: string): void => {
    state.currentPath = path;
    state.currentSource = source;
  };
  const titleOfSource = (): string => {
    const named = state.sources.find(({ name }) => name === state.currentSource);
    const only = state.sources.length === 1 ? state.sources[0] : undefined;
    const source = named ?? only;
    return source === undefined ? texts.allSources : source.title || source.name;
  };
  const render = (): void => {
    const folders = state.currentPath.split('/').filter((part) => part !== '' && part !== '.');
    const parts = [
      { text: titleOfSource(), path: '' },
      ...folders.map((text, index) => ({ text, path: folders.slice(0, index + 1).join('/') })),
    ];
    const nodes = parts.map(({ text, path }, index) =>
      index === parts.length - 1
        ? make('strong', '', { text, attributes: { 'aria-current': 'location' } })
        : makeButton('stowage-folder__part', () => goTo(path, state.currentSource), { text }),
    );
    line.replaceChildren(...nodes);
  };
  state.on(['change.currentPath', 'change.currentSource', 'change.sources'], render);
  render();
};
