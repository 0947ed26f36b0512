import type { FileBrowser } from './editor.ts';

/**
 * Whether the connector allows an action (`TrashList`) in the open folder; false as long as it has not said
 * so.
 */
export type IsAllowed = (action: string) => boolean;

/**
 * Remembers what the connector allows beyond the actions that Jodit 4.15.13 knows. A service that does not
 * speak of an action does not offer it.
 */
export const rememberPermissions = ({ dataProvider }: FileBrowser): IsAllowed => {
  const permissions = dataProvider.permissions;
  let allowed: Readonly<Record<string, boolean>> = {};
  dataProvider.permissions = async (path, source) => {
    const answer = await permissions(path, source);
    allowed = answer ?? {};
    return answer;
  };
  return (action) => allowed[`allow${action}`] === true;
};
