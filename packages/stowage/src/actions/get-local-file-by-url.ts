import * as z from 'zod';
import type { Access } from '../view/rights.ts';
import { AccessDeniedError, NotFoundError } from '../errors/errors.ts';
import { addressField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type ActionContext, defineAction } from './action.ts';
import { entryShownAt, filesOfPublicUrl, itemAt, type PublicFile } from './public-files.ts';

const KEYS = ['GET_LOCAL_FILE_BY_URL', 'FILES'];

const isAllowed = (access: Access, path: SourcePath): boolean =>
  KEYS.every((key) => access.may(key, path, 'file'));

/**
 * Files that the URL may mean. A `baseurl` that is only a path fits every host: behind a proxy the page may
 * have any. Sources whose host matches come first.
 */
const candidatesFor = (sources: readonly Source[], url: string): PublicFile[] => {
  const path = url.trim().replace(/^(?:https?:)?\/\/[^/?#@\\]*/iu, '');
  const anywhere = sources.filter(({ baseurl }) => baseurl.startsWith('/'));
  return [...filesOfPublicUrl(sources, url), ...(path === url ? [] : filesOfPublicUrl(anywhere, path))];
};

/** The file that a public URL means, or whose thumbnail or variant it means. */
const check = async (context: ActionContext, { source, path }: PublicFile) => {
  if (!isAllowed(context.views, path)) return 'denied';
  const view = await context.views.of(source);
  try {
    const entry = (await entryShownAt(view, path))?.entry ?? path;
    if (!isAllowed(view, entry)) return 'denied';
    const item = await itemAt(context.views, view, entry);
    // A file that was moved to a path without access is reported as missing, not as denied.
    return item.kind === 'file' && KEYS.every((key) => item.may(key)) ? item : 'missing';
  } catch (error) {
    if (error instanceof NotFoundError) return 'missing';
    throw error;
  }
};

export const getLocalFileByUrlAction = defineAction({
  name: 'getLocalFileByUrl',
  ofShown: true,
  isReported: false,
  summary: 'Finds the file of a public URL.',
  changes: false,
  parameters: z.object({ url: addressField.describe('Public URL of the file.') }),
  result: z.object({
    path: z.string().describe('The folder, with a leading slash.'),
    name: z.string(),
    source: z.string(),
  }),
  run: async (context, { url }) => {
    let isDenied = false;
    let failure: Error | undefined;
    for (const candidate of candidatesFor(context.views.named(undefined), url)) {
      const outcome = await check(context, candidate).catch((error: Error) => {
        context.signal.throwIfAborted();
        failure ??= error;
        return 'missing' as const;
      });
      if (outcome === 'denied') isDenied = true;
      else if (outcome !== 'missing') {
        const { path, folder, source } = outcome;
        return { path: `/${folder.toString()}`, name: path.name, source: source.name };
      }
    }
    if (failure !== undefined) throw failure;
    throw isDenied ? new AccessDeniedError() : new NotFoundError();
  },
});
