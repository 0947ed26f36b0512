import { EVERYTHING } from '../access/access.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { ifMissing } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import { type About, ABOUT_FIELDS, isNothing } from '../storage/about/about.ts';
import { isSameVersion } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { SourceView } from '../view/source-view.ts';
import { SourceViews } from '../view/source-views.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, ChangeContext, Describe, Requester, Stage } from './change.ts';
import { toldOfFile } from './uploaded-file.ts';

/** Requester of automatic descriptions: the service itself, not a user. */
export const DESCRIBER: Pick<Requester, 'role' | 'subject'> = { role: 'service', subject: 'describePicture' };

export const isPicture = ({ settings }: Source, name: string): boolean =>
  settings.imageExtensions.includes(extensionOf(name) ?? '');

const missingFrom = (about: About, words: About): About =>
  Object.fromEntries(
    ABOUT_FIELDS.flatMap((field) => (about[field] === undefined ? [[field, words[field]]] : [])),
  );

/**
 * Has the host describe a stored picture, and fills the fields that are empty. Returns false when
 * the host has no texts, or when the picture has changed in the meantime. Does not ask the host when no field
 * is empty or there is no hook.
 * @throws NotFoundError; errors of the store and of the host; InternalError for an invalid description
 */
export const describePicture = async (
  { services, signal }: ChangeContext,
  open: SourceView,
  path: SourcePath,
  carry: (change: Describe) => Promise<unknown>,
): Promise<boolean> => {
  const { describer, about: all } = services;
  const about = (await all.read({ storage: storeOf(open), path })) ?? {};
  if (describer === undefined || ABOUT_FIELDS.every((field) => about[field] !== undefined)) return false;
  const { stat } = await open.lookUp(path, 'file');
  const picture = {
    ...toldOfFile(open.source, path),
    bytes: stat.size,
    about,
    open: async () => (await open.file(path).open()).stream,
  };
  const words = await describer.ask(picture, signal);
  if (isNothing(missingFrom(about, words))) return false;
  open.forget(path);
  if (!isSameVersion(stat, (await open.lookUp(path, 'file')).stat)) return false;
  await carry({ type: 'describe', open, path, patch: (present) => missingFrom(present, words) });
  return true;
};

/** Whether the change brings new content. Content made from a stored picture already has its description. */
const isSent = (change: Change): change is Extract<Change, { type: 'create' | 'replace' | 'edit' }> =>
  change.type === 'create' ||
  change.type === 'replace' ||
  (change.type === 'edit' && change.sent !== undefined);

/** Has the host describe new pictures after the response, with the service's rights. Logs failures. */
export const describing: Stage = async (context, change, next) => {
  try {
    return await next(change);
  } finally {
    const { services, log, holdSources, done, carry, requester } = context;
    const { describer } = services;
    if (describer !== undefined && isSent(change)) {
      const { source } = change.open;
      const { requestId } = requester;
      for (const { path } of done.filter(({ path }) => isPicture(source, path.name))) {
        const { name, tenant } = source;
        describer.later({ source: name, tenant, path: path.toString() }, holdSources, async (signal) => {
          // The task may wait for long: retain nothing else of the request.
          const later = { requester: { requestId, ...DESCRIBER }, services, log, holdSources, signal };
          const sources = { all: [source], find: () => source };
          const view = await new SourceViews(sources, EVERYTHING, { signal }).of(source);
          // The file may have been moved or removed in the meantime.
          await describePicture(later, view, path, (part) => carry(part, later)).catch(ifMissing);
        });
      }
    }
  }
};
