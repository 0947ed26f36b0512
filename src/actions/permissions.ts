import * as z from 'zod';
import type { Access } from '../access/access.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { accessKeyOf, type ActionContext, defineAction } from './action.ts';
import { openedSource, sourcesFor } from './open-source.ts';
import { trashPolicyOf } from './removal.ts';
import { quotaOf } from './room.ts';

/**
 * The actions that `permissions` reports: those of the protocol in its order, then those that this service
 * adds. Some of them may not exist here: rules about them count.
 */
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
  // Not in the protocol's own list: after it.
  'imageRotate',
  'trashList',
  'trashRestore',
  'trashRemove',
  'trashEmpty',
  'imageVariant',
  'filesSearch',
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

/** Listings ask for the folder itself; the other actions for what lies in it. */
const OF_THE_FOLDER: ReadonlySet<string> = new Set(['FILES', 'FOLDERS', 'FOLDER_TREE', 'FILES_SEARCH']);

/**
 * What the access rules say of each reported action in a folder: true where it can succeed for something
 * there, so that clients hide no button that works. Whether anything lies there does not matter. Actions of
 * the trash are denied where the source has none.
 */
const permissionsAt = (access: Access, path: SourcePath, { settings }: Source): Permissions => {
  const hasTrash = trashPolicyOf(settings) !== undefined;
  return record((key) => {
    if (key.startsWith('TRASH_') && !hasTrash) return false;
    return OF_THE_FOLDER.has(key) ? access.allows(key, path) : access.mayAllowIn(key, path);
  });
};

/** The access of the role in the source; by exact spelling where its store cannot be opened. */
const accessIn = async (context: ActionContext, source: Source): Promise<Access> => {
  try {
    return (await openedSource(context, source)).access;
  } catch {
    return context.access;
  }
};

/** A first count takes as long as the source is large. */
const WAIT_MS = 1000;

/** What the source may hold, and what it holds, as far as that is known in a moment. */
const quotaAnswer = async (context: ActionContext, source: Source): Promise<object | undefined> => {
  try {
    const target = quotaOf({ source, storage: await source.storage() }, context.holdSources);
    if (target === undefined) return undefined;
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(WAIT_MS)]);
    const used = await context.services.quotas.usage(target, signal).catch(() => undefined);
    return { ...target.limits, usedBytes: used?.bytes, usedFiles: used?.files };
  } catch {
    return source.settings.quota;
  }
};

/**
 * Reports what the role of the request may do in a folder of the named, else the first source; nothing
 * without sources.
 */
export const permissionsAction = defineAction({
  name: 'permissions',
  summary: 'Reports what the current role may do in a folder.',
  changes: false,
  parameters: z.object({ source: sourceField, path: pathField }),
  result: z.object({
    permissions: z.object(record(() => z.boolean())),
    quota: z
      .object({
        bytes: z.number().optional(),
        usedBytes: z.number().optional(),
        files: z.number().optional(),
        usedFiles: z.number().optional(),
      })
      .optional()
      .describe('Where the source has a quota; what is used is absent until it has been counted.'),
  }),
  run: async (context, input) => {
    const [source] = sourcesFor(context.sources, input.source);
    const access = source === undefined ? context.access : await accessIn(context, source);
    access.require('PERMISSIONS', input.path);
    if (source === undefined) return { permissions: denied };
    const quota = source.settings.quota === undefined ? undefined : await quotaAnswer(context, source);
    return {
      permissions: permissionsAt(access, input.path, source),
      ...(quota === undefined ? {} : { quota }),
    };
  },
});
