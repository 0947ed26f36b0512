import * as z from 'zod';
import { orAborted } from '../basics/concurrency/or-aborted.ts';
import { inTimeLimit } from '../basics/concurrency/time-limit.ts';
import type { Access } from '../access/access.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { forBoth } from '../view/keys.ts';
import { accessKeyOf, type Action, type ActionContext, defineAction } from './action.ts';
import { openedSource, sourcesFor, storeToRead } from '../view/open-source.ts';
import { trashPolicyOf } from '../view/trashed.ts';
import { quotaOf } from '../changes/quota.ts';
import { MAX_FORM_PARTS } from '../changes/uploaded-file.ts';

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

const record = <Value>(valueOf: (name: ReportedAction) => Value): Record<keyof Permissions, Value> =>
  Object.fromEntries(reportedActions.map((name) => [flagOf(name), valueOf(name)])) as Record<
    keyof Permissions,
    Value
  >;

const denied: Permissions = record(() => false);

/** Listings ask for the folder itself; the other actions for what lies in it. */
const OF_THE_FOLDER: ReadonlySet<string> = new Set(['FILES', 'FOLDERS', 'FOLDER_TREE', 'FILES_SEARCH']);

/** What decides on a reported action: one of these lists, all of it. */
interface Reported {
  readonly key: string;
  readonly alternatives: readonly (readonly string[])[];
  readonly ofShown: boolean;
}

type Reports = Readonly<Record<ReportedAction, Reported>>;

/**
 * By the declarations of the actions; lists without the action's own key are about what it does in passing
 * (`fileMove` moves folders too). Made once: this is the answer that clients ask for most.
 */
const reportsOf = (actions: readonly Action[]): Reports =>
  Object.fromEntries(
    reportedActions.map((name): [string, Reported] => {
      const key = accessKeyOf(name);
      const { keys = forBoth(key), ofShown = false } = actions.find((action) => action.name === name) ?? {};
      const alternatives = [keys.file, keys.folder].filter((list) => list.includes(key));
      return [name, { key, alternatives, ofShown }];
    }),
  ) as Reports;

/**
 * What the access rules say of each reported action in a folder: true where it can succeed for something
 * there, so that clients hide no button that works. Whether anything lies there does not matter. Actions of
 * the trash are denied where the source has none.
 */
const permissionsAt = (
  reports: Reports,
  access: Access,
  path: SourcePath,
  { settings }: Source,
): Permissions => {
  const hasTrash = trashPolicyOf(settings) !== undefined;
  return record((name) => {
    const { key, alternatives, ofShown } = reports[name];
    if ((key.startsWith('TRASH_') && !hasTrash) || (ofShown && !access.mayList(path))) return false;
    if (OF_THE_FOLDER.has(key)) return access.allows(key, path);
    return alternatives.some((keys) => keys.every((one) => access.mayAllowIn(one, path)));
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

const quotaSchema = z.object({
  bytes: z.number().optional(),
  usedBytes: z.number().optional(),
  files: z.number().optional(),
  usedFiles: z.number().optional(),
});

type QuotaAnswer = z.output<typeof quotaSchema>;

/** What the source may hold, and what it holds, as far as that is known in a moment. */
const quotaAnswer = async (context: ActionContext, source: Source): Promise<QuotaAnswer | undefined> => {
  try {
    const target = quotaOf({ source, storage: await storeToRead(source) }, context.holdSources);
    if (target === undefined) return undefined;
    const used = await inTimeLimit(WAIT_MS, context.signal, (signal) =>
      orAborted(context.services.quotas.usage(target, signal), signal),
    ).catch(() => undefined);
    return { ...target.limits, usedBytes: used?.bytes, usedFiles: used?.files };
  } catch {
    return source.settings.quota;
  }
};

/** Parts of a form that a client may need for other parameters. */
const OTHER_PARTS = 10;

const limitsSchema = z.object({
  maxUploadFileSize: z.number().describe('Of one file, in bytes.'),
  extensions: z.array(z.string()).describe('Of files that may be uploaded: lower case, without dot.'),
  maxFiles: z.int().describe('Of one form.'),
  bytesLeft: z.number().optional().describe('Until the quota is used up, once that has been counted.'),
  filesLeft: z.number().optional(),
  tus: z.literal(true).optional().describe('Uploads in parts (tus 1.0) are taken at `tus`.'),
});

const left = (most: number | undefined, used: number | undefined): number | undefined =>
  most === undefined || used === undefined ? undefined : Math.max(0, most - used);

/** What bounds an upload into the source. */
const limitsOf = ({ settings }: Source, quota: QuotaAnswer | undefined): z.output<typeof limitsSchema> => ({
  maxUploadFileSize: settings.maxUploadFileSize,
  extensions: [...settings.extensions],
  maxFiles: MAX_FORM_PARTS - OTHER_PARTS,
  bytesLeft: left(quota?.bytes, quota?.usedBytes),
  filesLeft: left(quota?.files, quota?.usedFiles),
  ...(settings.tus === undefined ? {} : { tus: true }),
});

const parameters = z.object({ source: sourceField, path: pathField });

/**
 * Reports what the role of the request may do in a folder of the named, else the first source; nothing
 * without sources. It decides by what the actions declare.
 */
export const createPermissionsAction = (actions: readonly Action[]): Action => {
  const reports = reportsOf(actions);
  return defineAction({
    name: 'permissions',
    summary: 'Reports what the current role may do in a folder, and what bounds an upload into it.',
    changes: false,
    parameters,
    result: z.object({
      permissions: z.object(record(() => z.boolean())),
      quota: quotaSchema
        .optional()
        .describe('Where the source has a quota; what is used is absent until it has been counted.'),
      limits: limitsSchema.optional().describe('Absent without sources.'),
    }),
    run: async (context, input) => {
      const [source] = sourcesFor(context.sources, input.source);
      const access = source === undefined ? context.access : await accessIn(context, source);
      access.require('PERMISSIONS', input.path);
      if (source === undefined) return { permissions: denied };
      const quota = source.settings.quota === undefined ? undefined : await quotaAnswer(context, source);
      return {
        permissions: permissionsAt(reports, access, input.path, source),
        ...(quota === undefined ? {} : { quota }),
        limits: limitsOf(source, quota),
      };
    },
  });
};
