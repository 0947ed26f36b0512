import * as z from 'zod';
import type { Access } from '../access/access.ts';
import { extensionOf } from '../basics/content/extension.ts';
import { AccessDeniedError, NotFoundError } from '../errors/errors.ts';
import { addressField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { defineAction, type ActionContext } from './action.ts';
import { findItem } from '../view/item.ts';
import { openedSource } from '../view/open-source.ts';
import { filesOfPublicUrl, type PublicFile } from './public-url.ts';
import { entryShownAt } from './shown-entry.ts';

const isAllowed = (access: Access, path: SourcePath): boolean => {
  const extension = extensionOf(path.name);
  return access.allows('GET_LOCAL_FILE_BY_URL', path, extension) && access.allows('FILES', path, extension);
};

type Outcome = 'denied' | 'missing' | SourcePath;

/** The file that a public URL shows, or whose thumbnail or variant it shows. */
const check = async (context: ActionContext, { source, path }: PublicFile): Promise<Outcome> => {
  if (!isAllowed(context.access, path)) return 'denied';
  const open = await openedSource(context, source);
  try {
    const entry = (await entryShownAt(open, path, context.signal))?.entry ?? path;
    if (!isAllowed(open.access, entry)) return 'denied';
    const { stat } = await findItem(open, entry, context.signal);
    return stat.kind === 'file' ? entry : 'missing';
  } catch (error) {
    if (error instanceof NotFoundError) return 'missing';
    throw error;
  }
};

/** Finds the file of a source that a public URL shows, over all sources. */
export const getLocalFileByUrlAction = defineAction({
  name: 'getLocalFileByUrl',
  ofShown: true,
  summary: 'Finds the file of a source that a public URL belongs to.',
  changes: false,
  parameters: z.object({ url: addressField.describe('Public URL of the file.') }),
  result: z.object({
    path: z.string().describe('The folder, with a leading slash.'),
    name: z.string(),
    source: z.string(),
  }),
  run: async (context, { url }) => {
    let isDenied = false;
    for (const candidate of filesOfPublicUrl(context.sources.all, url)) {
      const outcome = await check(context, candidate);
      if (outcome === 'denied') isDenied = true;
      else if (outcome !== 'missing') {
        const { parent, name } = outcome;
        return { path: `/${parent.toString()}`, name, source: candidate.source.name };
      }
    }
    throw isDenied ? new AccessDeniedError() : new NotFoundError();
  },
});
