import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../../basics/files/system-errors.ts';

const nearestFolder = async (path: string): Promise<{ readonly path: string; readonly uid: number }> => {
  const found = await stat(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return undefined;
  });
  return found === undefined ? nearestFolder(dirname(path)) : { path, uid: found.uid };
};

/**
 * Why this process may not store files in a root, or make it where it is missing, with the command that allows it; undefined where
 * it may. For operators: names folders and users.
 */
export const rightsProblem = async (root: string): Promise<string | undefined> => {
  try {
    const folder = await nearestFolder(root);
    const code = await access(folder.path, constants.W_OK | constants.X_OK).then(() => undefined, systemCode);
    if (code === undefined || process.getuid === undefined) return undefined;
    if (code === 'EROFS') return `The folder ${folder.path} lies on a volume that is mounted read-only.`;
    const user = String(process.getuid());
    const begin = `The folder ${folder.path} belongs to user ${String(folder.uid)}, and this process, user ${user}, may not`;
    return folder.path === root
      ? `${begin} write to it. To allow it: chown -R ${user} ${root}`
      : `${begin} make ${root}. To allow it: mkdir -p ${root} && chown ${user} ${root}`;
  } catch {
    return undefined;
  }
};
