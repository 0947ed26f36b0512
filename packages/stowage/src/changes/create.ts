import { sanitizeName } from '../basics/content/file-name.ts';
import { isSameType, mimeTypeOf } from '../basics/content/file-type.ts';
import type { SourceView } from '../view/source-view.ts';
import type { Create, Edit, StageContext, Replace, Stored } from './change.ts';
import { cleanedUpload, pictureOf, receiveUpload } from './incoming.ts';
import { expectedName, newFileName, policyFor, requireUntaken, typeNotAllowed } from './new-name.ts';
import { complete, completeOver, putContent, putAll, type Planned } from './put-files.ts';
import { sizeOf } from './quota.ts';
import { textsOfSent, type UploadedFile, withFileNameIf } from './uploaded-file.ts';

/**
 * Converts an uploaded file into the form that the source stores. The name of a picture follows its format.
 * With `over` the file keeps its format, and must match the name `over`.
 */
const prepare = async (
  { services, signal }: StageContext,
  open: SourceView,
  upload: UploadedFile,
  over?: string,
): Promise<Planned> => {
  const { settings } = open.source;
  // The name chosen by the host decides whether the file is treated as a picture.
  const filename = over ?? upload.otherName ?? upload.filename;
  const policy = policyFor(settings, filename);
  const context = { services, signal };
  const texts = await textsOfSent(context, open.source, upload, filename);
  if (policy === undefined) {
    const name = over ?? newFileName(settings, expectedName(settings, filename));
    const content = await cleanedUpload(context, open, upload, name);
    const isImage = mimeTypeOf(name).startsWith('image/');
    const seen = isImage ? await services.images.measure(name, pictureOf(content)) : undefined;
    return { content, name, seen, texts, isReduced: content.isReduced };
  }
  const received = await receiveUpload(context, open, { ...upload, filename }, policy, over !== undefined);
  // The original keeps the extension that it was uploaded with.
  const original = received.original && upload;
  return { ...received, original, texts };
};

/**
 * Checks, before the first file is stored, that the folder exists and, with strategy `error`, that all names
 * are free. Returns the files with the result of that lookup.
 */
const requireTargets = async (
  context: StageContext,
  { open, path: folder }: Create,
  planned: readonly Planned[],
): Promise<readonly Planned[]> => {
  const names = planned.map(({ name }) => name);
  const free = await open.freeNames(folder, names);
  const seen = planned.map((plan) => ({ ...plan, isFree: free.has(plan.name) }));
  if (open.source.settings.saveSameFileNameStrategy === 'error') {
    const fresh = seen.filter(({ content }) => content.mayBeStored !== true);
    const wanted = fresh.map(({ name, content, isFree }) => ({ name, sent: content.filename, isFree }));
    await requireUntaken(context, open, folder, wanted);
  }
  return seen;
};

/**
 * Stores the files of one form in their order, all or none. None replaces another of the form, whatever the
 * strategy. Files that replaced an older file remain. Discards the files made during processing; the caller
 * discards the uploaded ones.
 * @throws BrokenImageError for pictures and drawings that cannot be read; UnsupportedError for HEIC without
 * the package that reads it; UnsafeNameError, TypeNotAllowedError, AccessDeniedError, AlreadyExistsError
 */
export const storeFiles = async (context: StageContext, change: Create): Promise<void> => {
  const planned: Planned[] = [];
  try {
    for (const file of change.files)
      await withFileNameIf(change.isForm, file.filename, async () => {
        const plan = await prepare(context, change.open, file);
        planned.push(plan);
        change.open.require(change.keys, change.path.child(plan.name), 'file');
      });
    await putAll(context, change, await requireTargets(context, change, planned));
  } finally {
    await Promise.all(planned.map(({ content }) => content.staged.discard()));
  }
};

/** Replaces a file by an uploaded one. @throws TypeNotAllowedError for another format; as `storeFiles` */
export const storeReplacement = async (
  context: StageContext,
  { open, path, file, keys }: Replace,
): Promise<void> => {
  const planned = await prepare(context, open, file, path.name);
  const { content, name } = planned;
  try {
    if (!isSameType(name, path.name)) throw typeNotAllowed(sanitizeName(file.filename));
    const change = { type: 'put', open, path, keys, content, mustExist: true } as const;
    const put = async (): Promise<Stored> => (await context.carry(change))[0] as Stored;
    context.done.push(await completeOver(context, change, planned, put));
  } finally {
    await content.staged.discard();
  }
};

/** Stores an edited picture over its original, or under a name by the strategy of the source. */
export const storeEdit = (context: StageContext, change: Edit): Promise<void> => {
  const { open, path, key, isOver, make } = change;
  const keys = [key];
  return make(async (made) => {
    const { content } = made;
    const { saveSameFileNameStrategy: strategy } = open.source.settings;
    const target = { open, path, keys, strategy };
    const put = async (): Promise<Stored> => {
      const [over] = isOver ? await context.carry({ type: 'put', open, path, keys, content }) : [];
      return (over as Stored | undefined) ?? putContent(context, target, content);
    };
    const mayReplace = isOver || strategy === 'replace';
    const stored = await (mayReplace
      ? completeOver(context, target, made, put)
      : complete(context, open, await put(), made));
    context.done.push({ ...stored, bytes: sizeOf(content) });
  });
};
