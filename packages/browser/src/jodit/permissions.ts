import type { FileBrowser } from './editor.ts';

/**
 * Whether the connector allows an action (`TrashList`) in the open folder; false as long as it has not said
 * so.
 */
export type IsAllowed = (action: string) => boolean;

/**
 * Remembers what the connector allows beyond the actions that Jodit 4.15.13 knows; a service that does not
 * speak of an action does not offer it. Corrects two faults: Jodit builds its toolbar before it takes the answer
 * over, so that it offers what the folder before allowed; and it asks for the files of a folder at the same
 * time, and shows them beside those tools when they come first.
 */
export const rememberPermissions = ({ dataProvider, e }: FileBrowser): IsAllowed => {
  const { items, permissions } = dataProvider;
  let allowed: Readonly<Record<string, boolean>> = {};
  let asked: Promise<unknown> = Promise.resolve();
  const ask = async (path: string, source: string): ReturnType<typeof permissions> => {
    const answer = await permissions(path, source);
    allowed = answer ?? {};
    e.fire(dataProvider, 'changePermissions');
    return answer;
  };
  dataProvider.permissions = (path, source) => {
    const answer = ask(path, source);
    asked = answer.catch(() => undefined);
    return answer;
  };
  dataProvider.items = async (path, source, mods) => {
    const list = await items(path, source, mods);
    await asked;
    return list;
  };
  return (action) => allowed[`allow${action}`] === true;
};
