import { z } from 'zod';
import type { Access } from '../access/access.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { accessKeyOf, defineAction } from './action.ts';
import { sourcesFor } from './select-source.ts';

/** The actions that `permissions` reports, in the order of the protocol. Some of them may not exist here: rules about them count. */
export const reportedActions = [
  'files',
  'fileMove',
  'fileCopy',
  'fileUpload',
  'fileUploadRemote',
  'fileRemove',
  'fileRename',
  'fileDownload',
  'folders',
  'folderMove',
  'folderCopy',
  'folderCreate',
  'folderRemove',
  'folderRename',
  'folderTree',
  'imageResize',
  'imageCrop',
  'imageSave',
  'imageLoad',
  'generatePdf',
  'generateDocx',
] as const;

type ReportedAction = (typeof reportedActions)[number];

/** The permissions of a role in a folder: `allowFiles`, `allowFileMove` and so on. */
export type Permissions = Readonly<Record<`allow${Capitalize<ReportedAction>}`, boolean>>;

const flagOf = <Name extends ReportedAction>(name: Name): `allow${Capitalize<Name>}` =>
  `allow${name.charAt(0).toUpperCase()}${name.slice(1)}` as `allow${Capitalize<Name>}`;

/** Made once: this is the answer that clients ask for most. */
const rows = reportedActions.map((name) => ({ flag: flagOf(name), key: accessKeyOf(name) }));

const record = <Value>(valueOf: (key: string) => Value): Record<keyof Permissions, Value> =>
  Object.fromEntries(rows.map(({ flag, key }) => [flag, valueOf(key)])) as Record<keyof Permissions, Value>;

const denied: Permissions = record(() => false);

/** What the access rules say of each reported action in a folder. Whether anything lies there does not matter. */
const permissionsAt = (access: Access, path: SourcePath): Permissions => {
  const permissions = { ...denied };
  for (const { flag, key } of rows) permissions[flag] = access.allows(key, path);
  return permissions;
};

/** Tells what the role of the request may do in a folder of the named, else the first source; nothing where there is no source. */
export const permissionsAction = defineAction({
  name: 'permissions',
  summary: 'Tells what the current role may do in a folder.',
  methods: ['GET', 'POST'],
  changes: false,
  takesFiles: false,
  parameters: z.object({ source: sourceField, path: pathField }),
  result: z.object({ permissions: z.object(record(() => z.boolean())) }),
  run: async ({ access, sources }, { source, path }) => {
    access.require('PERMISSIONS', path);
    const isAnySource = sourcesFor(sources, source).length > 0;
    return { permissions: isAnySource ? permissionsAt(access, path) : denied };
  },
});
