import { Readable } from 'node:stream';
import { sanitizeName } from '../basics/content/file-name.ts';
import { extensionOf, mimeTypeOf } from '../basics/content/file-type.ts';
import { carryOut } from '../changes/carry-out.ts';
import { stageFile } from '../changes/incoming.ts';
import { checkUpload } from '../changes/new-name.ts';
import { requireRoomForMore } from '../changes/quota.ts';
import { optionalTextField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { type StoredFiles, storedFilesOf } from './file-upload.ts';

const UNKNOWN_TYPE = mimeTypeOf('');

/** Undefined for a name of another type of file. An unknown extension is part of the name: `Draft 2.1`. */
const documentName = (text: string, extension: string): string | undefined => {
  const name = sanitizeName(text);
  if (name === '' || extensionOf(name) === extension) return name;
  return mimeTypeOf(name) === UNKNOWN_TYPE ? sanitizeName(`${name}.${extension}`) : undefined;
};

/**
 * `name`: saves the document under it instead of returning it. The extension is added where it is missing.
 */
export const savedNameField = (extension: string) =>
  optionalTextField
    .refine(
      (name) => name === undefined || documentName(name, extension) !== undefined,
      `must end in ".${extension}"`,
    )
    .transform((name) => (name === undefined ? undefined : documentName(name, extension)))
    .describe(
      'Saves the document in the folder under this name, like an upload, and returns the stored file.',
    );

interface DocumentTarget {
  readonly source: string | undefined;
  readonly path: SourcePath;
  readonly name: string;
}

/**
 * Saves a document like an upload: by the access rules, limits and conflict strategy of uploads. `make` runs
 * only when name and folder are allowed and the quota is not used up.
 * @throws errors of `make`, and those of uploads
 */
export const saveDocument = async (
  context: ActionContext,
  { source, path, name }: DocumentTarget,
  keys: readonly string[],
  make: () => Promise<Uint8Array>,
): Promise<StoredFiles> => {
  const view = await context.views.open(source);
  await checkUpload(context, view, { folder: path, filename: name, keys });
  await requireRoomForMore(context, view, path.child(name));
  const content = Readable.from([await make()], { objectMode: false });
  const file = await stageFile(context, view, content, { field: 'name', filename: name, near: path });
  try {
    const stored = await carryOut(context, {
      type: 'create',
      open: view,
      path,
      files: [file],
      keys,
      isForm: true,
    });
    return storedFilesOf(context, view, stored, (one) => `The document "${one.path.name}" was saved.`);
  } finally {
    await file.staged.discard();
  }
};
