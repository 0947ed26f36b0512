import { access, constants } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { readProgramFolders } from '../../config/environment.ts';

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The whole path of a program: as it is, or in the folders of PATH. Undefined when it cannot be run. */
export const findProgram = async (command: string): Promise<string | undefined> => {
  const names = process.platform === 'win32' ? [command, `${command}.exe`] : [command];
  const paths = isAbsolute(command)
    ? [command]
    : readProgramFolders().flatMap((folder) => names.map((name) => join(folder, name)));
  for (const path of paths) if (await isExecutable(path)) return path;
  return undefined;
};
