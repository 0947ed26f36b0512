import type { Settings } from '../../config/settings.ts';
import { BrokenImageError, ifNoSuch } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { Entry, Stat } from '../../storage/entry.ts';
import type { ReadResult } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { type KeptFolder, type KeptPicture, openKeptFolder } from './kept-pictures.ts';
import { createPlanner, hasVariants, type Planner, thumbnailOf, variantOf } from './plan.ts';
import { openThumbnailView, ThumbnailView, type ViewContext } from './thumbnail-view.ts';
import type { Shown, Thumbnails } from './thumbnails.ts';

/** The scaled picture for an entry: undefined where the entry is shown by itself or by an icon. */
const pictureFor =
  (settings: Settings, planner: Planner, preset: string | undefined) =>
  (entry: Entry): KeptPicture | undefined => {
    if (preset === undefined) {
      const plan = planner.plan(entry);
      return plan.kind === 'picture' ? thumbnailOf(settings, entry, plan) : undefined;
    }
    const form = Object.hasOwn(settings.imagePresets, preset) ? settings.imagePresets[preset] : undefined;
    return form && hasVariants(settings, entry) ? variantOf(settings, form, entry) : undefined;
  };

/** Result of looking for a derived picture. The caller owns the stream of `read`. */
interface Found {
  readonly kept: KeptFolder;
  readonly stat?: Stat | undefined;
  readonly read?: ReadResult | undefined;
}

/** Finds a derived picture, and opens it in the same request; up to `opensUpTo` bytes are read whole. */
const openKeptPicture = async (
  context: ViewContext,
  source: Source,
  { folder, preset, name }: { folder: SourcePath; preset: string | undefined; name: string },
  { signal, opensUpTo, refusal }: Parameters<Thumbnails['show']>[3],
): Promise<Found> => {
  let read: ReadResult | undefined;
  let stat: Stat | undefined;
  const wanted = { folder, preset, names: new Set([name]) };
  const kept = await openKeptFolder(context, source, wanted, signal, async (files, kept) => {
    if (refusal !== undefined) throw refusal;
    const path = kept.child(name);
    // In other stores, an open file could occupy the only connection, which the stat of the original is
    // waiting for.
    const isOpened = opensUpTo !== undefined && (files.glimpse !== undefined || files.readMany !== undefined);
    if (isOpened)
      read = await files.read(path, { signal, mayMiss: true, bytesUpTo: opensUpTo }).catch(ifNoSuch);
    else stat = await files.stat(path, { signal, mayMiss: true, expects: 'file' }).catch(ifNoSuch);
    stat ??= read?.stat;
    return new Map(stat?.kind === 'file' ? [[name, stat]] : []);
  });
  return { kept, stat, read };
};

const showThumbnail = async (
  context: ViewContext,
  source: Source,
  { folder, entry, planner }: { folder: SourcePath; entry: Entry; planner: Planner },
  kept: KeptFolder | undefined,
  signal: AbortSignal,
): Promise<Shown> => {
  const plan = planner.plan(entry);
  const isKnown = plan.kind === 'picture' && !(planner.hasItemIcons && kept?.isBroken(plan.name, entry));
  const view =
    isKnown && kept !== undefined
      ? new ThumbnailView([entry], { ...context, source, folder, planner, plans: [plan], kept })
      : await openThumbnailView(context, source, folder, [entry], signal);
  const found = view.viewOf(0);
  const shown = typeof found === 'function' ? await found() : found;
  const failure = 'failure' in shown ? { failure: shown.failure } : {};
  if (shown.kind === 'icon') return { kind: 'icon', svg: shown.icon.svg, ...failure };
  if (shown.kind !== 'made') return { kind: 'self', ...failure };
  return { kind: 'stored', path: folder.child(source.settings.thumbFolderName).child(shown.name) };
};

const showVariant = async (kept: KeptFolder, variant: KeptPicture): Promise<Shown> => {
  const outcome = await kept.ensure(variant);
  if (outcome === 'broken') throw new BrokenImageError();
  if (typeof outcome === 'object') return { kind: 'self', ...outcome };
  return { kind: 'stored', path: kept.pathOf(variant.name) };
};

/** @see Thumbnails.show */
export const showWith =
  (context: ViewContext): Thumbnails['show'] =>
  async (source, { name, parent: folder }, looked, options) => {
    const { preset, signal } = options;
    const planner = createPlanner(source.settings, context.svgGenerator !== undefined);
    const pictureOf = pictureFor(source.settings, planner, preset);
    const expected = pictureOf({ name, kind: 'file', size: undefined, modifiedAt: undefined });
    // In parallel with the stat of the entry; the result is used only if it was made of the entry's current
    // version.
    const opening =
      expected && openKeptPicture(context, source, { folder, preset, name: expected.name }, options);
    const close = (found: Found | undefined): unknown => found?.read?.stream.destroy();
    const [asked, open] = await Promise.allSettled([looked, opening]);
    if (open.status === 'rejected') throw asked.status === 'rejected' ? asked.reason : open.reason;
    const found = open.value;
    if (asked.status === 'rejected') {
      close(found);
      throw asked.reason;
    }
    const entry = asked.value;
    const picture = pictureOf(entry);
    if (picture !== undefined && found?.kept.isFresh(picture.name, entry) === true)
      return { ...found, kind: 'stored', path: found.kept.pathOf(picture.name) };
    close(found);
    if (preset === undefined)
      return showThumbnail(context, source, { folder, entry, planner }, found?.kept, signal);
    return picture === undefined || found === undefined ? { kind: 'self' } : showVariant(found.kept, picture);
  };
