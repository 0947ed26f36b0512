import * as z from 'zod';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type Access, forBoth } from '../view/rights.ts';
import { accessKeyOf, type Action, type ActionContext, defineAction } from './action.ts';
import { usageOf } from '../changes/quota.ts';
import { MAX_FORM_PARTS } from '../changes/uploaded-file.ts';

/**
 * What the protocol reports, in its order. All other actions follow by themselves. What does not exist here is reported
 * all the same: rules about it count.
 */
export const PROTOCOL: readonly string[] = [
  ...['files', 'fileMove', 'fileCopy', 'fileUpload', 'fileUploadRemote', 'fileRemove', 'fileRename'],
  ...['fileDownload', 'folders', 'folderMove', 'folderCopy', 'folderCreate', 'folderRemove', 'folderRename'],
  ...['folderTree', 'imageResize', 'imageCrop', 'imageSave', 'imageLoad', 'generatePdf', 'generateDocx'],
];

/** The permissions of a role in a folder: `allowFiles`, `allowFileMove` and so on. */
type Permissions = Readonly<Record<string, boolean>>;

/** Listings ask for the folder itself; the other actions for what lies in it. */
const OF_THE_FOLDER: ReadonlySet<string> = new Set(['FILES', 'FOLDERS', 'FOLDER_TREE', 'FILES_SEARCH']);

/** What decides on a reported action: one of these lists, all of it. */
interface Reported {
  readonly flag: string;
  readonly key: string;
  readonly alternatives: readonly (readonly string[])[];
  readonly ofShown: boolean;
}

/**
 * By the declarations of the actions; lists without the action's own key are about what it does in passing
 * (`fileMove` moves folders too). Made once: this is the answer that clients ask for most.
 */
const reportsOf = (actions: readonly Action[]): readonly Reported[] => {
  const known = new Map(actions.filter(({ isReported = true }) => isReported).map((one) => [one.name, one]));
  const names = new Set([...PROTOCOL, ...known.keys()]);
  return [...names].map((name) => {
    const { keys, ofShown = false } = known.get(name) ?? { keys: forBoth(accessKeyOf(name)) };
    const flag = `allow${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    const key = accessKeyOf(name);
    return {
      flag,
      key,
      ofShown,
      alternatives: [keys.file, keys.folder].filter((list) => list.includes(key)),
    };
  });
};

const record = <Value>(
  reports: readonly Reported[],
  valueOf: (report: Reported) => Value,
): Record<string, Value> => Object.fromEntries(reports.map((report) => [report.flag, valueOf(report)]));

/**
 * What the access rules say of each reported action in a folder: true where it can succeed for something
 * there, so that clients hide no button that works. Whether anything lies there does not matter. `hasKey`: there
 * is what the actions of a key need.
 */
const permissionsAt = (
  reports: readonly Reported[],
  access: Access,
  path: SourcePath,
  hasKey: (key: string) => boolean,
): Permissions => {
  return record(reports, ({ key, alternatives, ofShown }) => {
    if (!hasKey(key) || (ofShown && !access.mayList(path))) return false;
    if (OF_THE_FOLDER.has(key)) return access.may(key, path, 'folder');
    return alternatives.some((keys) => keys.every((one) => access.mayAllowIn(one, path)));
  });
};

/** Actions of the trash need one, and `fileUses` a host that knows. */
const keysOf = (
  { services: { findUses } }: ActionContext,
  { settings }: Source,
): ((key: string) => boolean) => {
  return (key) =>
    key === 'FILE_USES' ? findUses !== undefined : settings.trash !== undefined || !key.startsWith('TRASH_');
};

/** What the role may do in the source; by exact spelling where its store cannot be opened. */
const accessIn = ({ views }: ActionContext, source: Source): Promise<Access> =>
  views.of(source).catch(() => views);

const quotaSchema = z.object({
  bytes: z.number().optional(),
  usedBytes: z.number().optional(),
  files: z.number().optional(),
  usedFiles: z.number().optional(),
});

type QuotaAnswer = z.output<typeof quotaSchema>;

/** What the source may hold, and what it holds, as far as that is known in a moment. */
const quotaAnswer = async (context: ActionContext, source: Source): Promise<QuotaAnswer | undefined> => {
  const { quota } = source.settings;
  if (quota?.bytes === undefined && quota?.files === undefined) return undefined;
  const used = await context.views
    .of(source)
    .then((view) => usageOf(context, view))
    .catch(() => undefined);
  return { ...quota, usedBytes: used?.bytes, usedFiles: used?.files };
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
      permissions: z.object(record(reports, () => z.boolean())),
      quota: quotaSchema
        .optional()
        .describe('Where the source has a quota; what is used is absent until it has been counted.'),
      limits: limitsSchema.optional().describe('Absent without sources.'),
    }),
    run: async (context, input) => {
      const [source] = context.views.named(input.source);
      const access = source === undefined ? context.views : await accessIn(context, source);
      access.require('PERMISSIONS', input.path, 'folder');
      if (source === undefined) return { permissions: record(reports, () => false) };
      const quota = await quotaAnswer(context, source);
      return {
        permissions: permissionsAt(reports, access, input.path, keysOf(context, source)),
        ...(quota === undefined ? {} : { quota }),
        limits: limitsOf(source, quota),
      };
    },
  });
};
