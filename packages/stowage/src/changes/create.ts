import { sanitizeName } from '../basics/content/file-name.ts';
import { isSameType, mimeTypeOf } from '../basics/content/file-type.ts';
import type { SourceView } from '../view/source-view.ts';
import type { Create, Edit, Passage, Replace, Stored } from './change.ts';
import { cleanedUpload, pictureOf, receiveUpload } from './incoming.ts';
import { expectedName, newFileName, policyFor, requireUntaken, typeNotAllowed } from './new-name.ts';
import { complete, place, placeAll, type Planned } from './place-files.ts';
import { sizeOf } from './quota.ts';
import { textsOfSent, type UploadedFile, withFileNameIf } from './uploaded-file.ts';

/**
 * Makes of an uploaded file what the source wants to be stored. The name of a picture follows its format. What goes
 * `over` a file keeps its format, and has the name that fits it.
 */
const prepare = async (
  { services, signal }: Passage,
  open: SourceView,
  upload: UploadedFile,
  over?: string,
): Promise<Planned> => {
  const { settings } = open.source;
  // What the host calls a picture is one: it is treated by the name that it gets.
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
  // What is kept as it came keeps the extension that it was sent with.
  const original = received.original && upload;
  return { ...received, original, texts };
};

/**
 * All names are free as far as the strategy asks for it, and the folder is there, before the first is stored.
 * Returns what is to be stored, with what was seen of its names.
 */
const requireTargets = async (
  passage: Passage,
  { open, path: folder }: Create,
  planned: readonly Planned[],
): Promise<readonly Planned[]> => {
  const names = planned.map(({ name }) => name);
  const free = await open.freeNames(folder, names);
  const seen = planned.map((plan) => ({ ...plan, isFree: free.has(plan.name) }));
  if (open.source.settings.saveSameFileNameStrategy === 'error')
    await requireUntaken(
      passage,
      open,
      folder,
      seen
        .filter(({ content }) => content.mayBeStored !== true)
        .map(({ name, content, isFree }) => ({ name, sent: content.filename, isFree })),
    );
  return seen;
};

/**
 * Stores the files of one form in their order, all or none; none replaces another of them, whatever the
 * strategy. What has replaced an older file stays. What is made of them is discarded here, they themselves by the
 * caller.
 * @throws BrokenImageError for pictures and drawings that cannot be read, UnsupportedError for HEIC without the
 *   package that reads it; UnsafeNameError, TypeNotAllowedError, AccessDeniedError, AlreadyExistsError
 */
export const storeFiles = async (passage: Passage, change: Create): Promise<void> => {
  const planned: Planned[] = [];
  try {
    for (const file of change.files)
      await withFileNameIf(change.isForm, file.filename, async () => {
        const plan = await prepare(passage, change.open, file);
        planned.push(plan);
        change.open.require(change.keys, change.path.child(plan.name), 'file');
      });
    await placeAll(passage, change, await requireTargets(passage, change, planned));
  } finally {
    await Promise.all(planned.map(({ content }) => content.staged.discard()));
  }
};

/**
 * Puts an uploaded file over the one that has the path.
 * @throws TypeNotAllowedError for a picture of another format; as `storeFiles`
 */
export const storeReplacement = async (
  passage: Passage,
  { open, path, file, keys }: Replace,
): Promise<void> => {
  const planned = await prepare(passage, open, file, path.name);
  const { content, name } = planned;
  try {
    if (!isSameType(name, path.name)) throw typeNotAllowed(sanitizeName(file.filename));
    const put = { type: 'put', open, path, keys, content, mustExist: true } as const;
    const [stored] = await passage.carry(put);
    passage.done.push(await complete(passage, open, stored as Stored, planned));
  } finally {
    await content.staged.discard();
  }
};

/** Stores an edited picture over the file that it is of, or under a name by the strategy of the source. */
export const storeEdit = (passage: Passage, change: Edit): Promise<void> => {
  const { open, path, key, isOver, make } = change;
  const keys = [key];
  return make(async (made) => {
    const { content } = made;
    const target = { open, path: path, keys, strategy: open.source.settings.saveSameFileNameStrategy };
    const [over] = isOver ? await passage.carry({ type: 'put', open, path, keys, content }) : [];
    const stored = (over as Stored | undefined) ?? (await place(passage, target, content));
    passage.done.push({ ...(await complete(passage, open, stored, made)), bytes: sizeOf(content) });
  });
};
