import * as z from 'zod';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type Access, forBoth } from '../view/rights.ts';
import { accessKeyOf, type Action, type ActionContext, defineAction } from './action.ts';
import { usageOf } from '../changes/quota.ts';
import { MAX_FORM_PARTS } from '../changes/uploaded-file.ts';

/** Flags that the protocol requires, in its order, also those without an action: rules can name them. */
export const PROTOCOL: readonly string[] = [
  ...['files', 'fileMove', 'fileCopy', 'fileUpload', 'fileUploadRemote', 'fileRemove', 'fileRename'],
  ...['fileDownload', 'folders', 'folderMove', 'folderCopy', 'folderCreate', 'folderRemove', 'folderRename'],
  ...['folderTree', 'imageResize', 'imageCrop', 'imageSave', 'imageLoad', 'generatePdf', 'generateDocx'],
];

/** For listings the folder itself is checked; for other actions its content. */
const OF_THE_FOLDER: ReadonlySet<string> = new Set(['FILES', 'FOLDERS', 'FOLDER_TREE', 'FILES_SEARCH']);

/** A reported action is allowed when all keys of one of these lists are. */
interface Reported {
  readonly flag: string;
  readonly key: string;
  readonly alternatives: readonly (readonly string[])[];
  readonly ofShown: boolean;
}

/**
 * Derived from the declarations of the actions; key lists without the action's own key are left out, since
 * they belong to side effects (`fileMove` moves folders too). Computed once: permissions are the most
 * frequent request.
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

const record = <Value>(reports: readonly Reported[], valueOf: (report: Reported) => Value) => {
  // Half the time of `Object.fromEntries`.
  const values: Record<string, Value> = {};
  for (const report of reports) values[report.flag] = valueOf(report);
  return values;
};

/**
 * The permissions in a folder: true where an action can succeed for something there, so that clients hide no
 * working button, even if the folder is empty. `hasKey`: whether the source has what a key requires.
 */
const permissionsAt = (
  reports: readonly Reported[],
  access: Access,
  path: SourcePath,
  hasKey: (key: string) => boolean,
): Readonly<Record<string, boolean>> =>
  record(reports, ({ key, alternatives, ofShown }) => {
    if (!hasKey(key) || (ofShown && !access.mayList(path))) return false;
    if (OF_THE_FOLDER.has(key)) return access.may(key, path, 'folder');
    return alternatives.some((keys) => keys.every((one) => access.mayAllowIn(one, path)));
  });

/** Actions of the trash need a trash, and `fileUses` the hook. */
const keysOf =
  ({ services: { findUses } }: ActionContext, { settings }: Source) =>
  (key: string): boolean =>
    key === 'FILE_USES' ? findUses !== undefined : settings.trash !== undefined || !key.startsWith('TRASH_');

/** The role's access in the source; by exact spelling where the store cannot be opened. */
const accessIn = ({ views }: ActionContext, source: Source): Promise<Access> =>
  views.of(source).catch(() => views);

const quotaSchema = z.object({
  bytes: z.number().optional(),
  usedBytes: z.number().optional(),
  files: z.number().optional(),
  usedFiles: z.number().optional(),
});

type Quota = z.output<typeof quotaSchema>;

/** Limits and usage of the quota, as far as they are known without a long wait. */
const readQuota = async (context: ActionContext, source: Source): Promise<Quota | undefined> => {
  const { quota } = source.settings;
  if (quota?.bytes === undefined && quota?.files === undefined) return undefined;
  const used = await context.views
    .of(source)
    .then((view) => usageOf(context, view))
    .catch(() => undefined);
  return { ...quota, usedBytes: used?.bytes, usedFiles: used?.files };
};

/** Form parts that remain for parameters besides files. */
const OTHER_PARTS = 10;

const limitsSchema = z.object({
  maxUploadFileSize: z.number().describe('Maximum size of a file, in bytes.'),
  extensions: z.array(z.string()).describe('Allowed extensions, in lower case, without dot.'),
  maxFiles: z.int().describe('Maximum number of files of a form.'),
  bytesLeft: z.number().optional().describe('The rest of the quota, once the source has been counted.'),
  filesLeft: z.number().optional(),
  tus: z.literal(true).optional().describe('Uploads in parts (tus 1.0) are accepted at `tus`.'),
});

const left = (most: number | undefined, used: number | undefined): number | undefined =>
  most === undefined || used === undefined ? undefined : Math.max(0, most - used);

const limitsOf = ({ settings }: Source, quota: Quota | undefined): z.output<typeof limitsSchema> => ({
  maxUploadFileSize: settings.maxUploadFileSize,
  extensions: [...settings.extensions],
  maxFiles: MAX_FORM_PARTS - OTHER_PARTS,
  bytesLeft: left(quota?.bytes, quota?.usedBytes),
  filesLeft: left(quota?.files, quota?.usedFiles),
  ...(settings.tus === undefined ? {} : { tus: true }),
});

const parameters = z.object({ source: sourceField, path: pathField });

/**
 * Reports the permissions of the request's role in a folder of the named source, else of the first; nothing
 * without sources. Derived from the declarations of the actions.
 */
export const createPermissionsAction = (actions: readonly Action[]): Action => {
  const reports = reportsOf(actions);
  return defineAction({
    name: 'permissions',
    summary: 'Reports the rights of the current role in a folder, and the limits of uploads into it.',
    changes: false,
    parameters,
    result: z.object({
      permissions: z.object(record(reports, () => z.boolean())),
      quota: quotaSchema
        .optional()
        .describe('If the source has a quota. The used part is absent until the source has been counted.'),
      limits: limitsSchema.optional().describe('Absent if there are no sources.'),
    }),
    run: async (context, input) => {
      const [source] = context.views.named(input.source);
      const access = source === undefined ? context.views : await accessIn(context, source);
      access.require('PERMISSIONS', input.path, 'folder');
      if (source === undefined) return { permissions: record(reports, () => false) };
      const quota = await readQuota(context, source);
      return {
        permissions: permissionsAt(reports, access, input.path, keysOf(context, source)),
        ...(quota === undefined ? {} : { quota }),
        limits: limitsOf(source, quota),
      };
    },
  });
};
