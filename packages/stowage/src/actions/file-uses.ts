import * as z from 'zod';
import { orAborted } from '../basics/concurrency/abort.ts';
import { InternalError, UnsupportedError } from '../errors/errors.ts';
import { itemShape } from '../parameters/fields.ts';
import { forBoth } from '../view/rights.ts';
import { defineAction, type UsedFile } from './action.ts';

const useSchema = z.object({
  title: z.string().max(2000),
  url: z
    .string()
    .min(1)
    .max(8192)
    .describe('Address as reported by the host application: absolute, or relative to its pages.'),
});

export type FileUse = z.output<typeof useSchema>;

/** The hook `findUses`: returns the pages that use a file; null or undefined for none. */
export type FindUses = (
  file: UsedFile,
) => readonly FileUse[] | null | undefined | Promise<readonly FileUse[] | null | undefined>;

/** Pages in the response; users do not read more. */
const MOST_USES = 1000;

const usesFrom = (found: unknown): readonly FileUse[] => {
  if (found === undefined || found === null) return [];
  const read = z.array(useSchema).safeParse(Array.isArray(found) ? found.slice(0, MOST_USES) : found);
  if (read.success) return read.data;
  throw new InternalError({
    detail: 'the hook findUses found something else than a list of {title, url}',
    cause: read.error,
  });
};

const KEYS = ['FILE_USES', 'FILES'];

export const fileUsesAction = defineAction({
  name: 'fileUses',
  keys: forBoth(...KEYS),
  summary: 'Returns the pages of the application that show a file.',
  changes: false,
  parameters: z.object(itemShape),
  result: z.object({ uses: z.array(useSchema).describe('The first 1,000.') }),
  run: async (context, input) => {
    const { findUses } = context.services;
    if (findUses === undefined) throw new UnsupportedError();
    const view = await context.views.open(input.source);
    const path = input.path.child(input.name);
    view.require(KEYS, path, 'file');
    await view.find('FILE_USES', path, 'file');
    const { name: source, tenant } = view.source;
    const file = { source, ...(tenant === undefined ? {} : { tenant }), path: path.toString() };
    return { uses: usesFrom(await orAborted(findUses(file), context.signal)) };
  },
});
