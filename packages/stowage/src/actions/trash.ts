import * as z from 'zod';
import { inSlot } from '../basics/concurrency/queues.ts';
import { carryOut } from '../changes/carry-out.ts';
import { tendTrash } from '../changes/tend-trash.ts';
import { filledField, pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import { SourcePath } from '../storage/source-path.ts';
import { forBoth, type KeysByKind, requireReachable, RESTORE_KEYS } from '../view/rights.ts';
import type { TrashRecord } from '../view/trashed.ts';
import { type ActionContext, defineAction, doneSchema } from './action.ts';
import { createLeftOut, type LeftOut, listingMessages, readOneOf, turnOf } from './listing/each-source.ts';
import { countField } from './listing/fields.ts';

/** An id in a request. Its format is checked at the lookup. */
export const trashIdField = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .describe('The id from `trashList`.');

export const trashItemSchema = z.object({
  id: z.string(),
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The former folder, as in listings: `/` at the root.'),
  name: z.string(),
  kind: z.enum(['file', 'folder']),
  bytes: z.number().describe('Size; of a folder, of all its contents.'),
  removedAt: z.string().describe('ISO 8601, in UTC.'),
  role: z.string().describe('Role of the request that removed the item.'),
  subject: z.string().optional().describe('Subject of the request that removed the item, if known.'),
  replaced: z.boolean().describe('True: the item is the old content of a file that was replaced.'),
});

export const trashItem = (
  source: Source,
  { id, path, kind, bytes, removedAt, role, subject, replaced }: TrashRecord,
): z.output<typeof trashItemSchema> => ({
  id,
  source: source.name,
  path: path.parent.toString() || '/',
  name: path.name,
  kind,
  bytes,
  removedAt: new Date(removedAt).toISOString(),
  role,
  ...(subject === undefined ? {} : { subject }),
  replaced,
});

const KEYS = forBoth('TRASH_LIST');

/** Maximum number of items per page; each costs a read. */
const MOST = 1000;

interface Found {
  readonly source: Source;
  readonly record: TrashRecord;
}

/** Visible items in the trash of a source, newest first; none where its store fails, which is recorded. */
async function* visibleIn(
  context: ActionContext,
  sources: readonly Source[],
  source: Source,
  leftOut: LeftOut,
): AsyncGenerator<Found, void, undefined> {
  const begin = async (signal: AbortSignal) => {
    const view = await context.views.of(source, { signal });
    tendTrash(context, view);
    const records = view.allTrashed(KEYS);
    return { records, first: await records.next() };
  };
  try {
    const { records, first } = await readOneOf(sources, source, context, begin);
    for (let next = first; next.done !== true; next = await records.next())
      yield { source, record: next.value };
  } catch (error) {
    context.signal.throwIfAborted();
    leftOut.add(source, error);
  }
}

/** Merges sorted lists, newest first, and reads ahead only one item of each. */
async function* newestFirst(lists: readonly AsyncGenerator<Found, void, undefined>[]) {
  const heads = new Map<AsyncGenerator<Found, void, undefined>, Found>();
  const advance = async (list: AsyncGenerator<Found, void, undefined>): Promise<void> => {
    const { value } = await list.next();
    if (value === undefined) heads.delete(list);
    else heads.set(list, value);
  };
  await Promise.all(lists.map(advance));
  while (heads.size > 0) {
    const [first, ...others] = heads;
    if (first === undefined) return;
    const [list, found] = others.reduce(
      (newest, one) => (one[1].record.removedAt > newest[1].record.removedAt ? one : newest),
      first,
    );
    yield found;
    await advance(list);
  }
}

/** Lists restorable items, as far as the role could see all of them at their original paths. */
export const trashListAction = defineAction({
  name: 'trashList',
  load: 'listings',
  summary: 'Lists the items of the trash, the newest first.',
  keys: KEYS,
  ofShown: true,
  changes: false,
  parameters: z.object({
    source: sourceField,
    offset: countField.describe('Number of items before the page.'),
    limit: countField.describe('Maximum number of items of a page, at most 1000.'),
  }),
  result: z.object({ items: z.array(trashItemSchema), messages: listingMessages }),
  run: async (context, { source: name, offset = 0, limit = MOST }) => {
    const most = Math.min(limit, MOST);
    const items: z.output<typeof trashItemSchema>[] = [];
    const sources = context.views.named(name).filter(({ settings }) => settings.trash !== undefined);
    if (most === 0) return { items };
    const leftOut = createLeftOut(context, 'listing', sources);
    const lists = sources.map((source) => visibleIn(context, sources, source, leftOut));
    // It reads as much as a search does.
    await inSlot(context.services.searches, context.signal, turnOf(sources[0]), async () => {
      let passed = 0;
      for await (const { source, record } of newestFirst(lists)) {
        passed += 1;
        if (passed <= offset) continue;
        items.push(trashItem(source, record));
        if (items.length === most) break;
      }
    });
    leftOut.requireAny();
    return { items, messages: leftOut.messages() };
  },
});

/** Erasing needs the right to remove. */
const erasingKeys = (key: string): KeysByKind => ({
  file: [key, 'FILE_REMOVE'],
  folder: [key, 'FOLDER_REMOVE'],
});

const REMOVE_KEYS = erasingKeys('TRASH_REMOVE');
const EMPTY_KEYS = erasingKeys('TRASH_EMPTY');

export const trashRemoveAction = defineAction({
  name: 'trashRemove',
  summary: 'Permanently removes an item of the trash.',
  keys: REMOVE_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({ source: sourceField, id: trashIdField }),
  result: doneSchema,
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const record = await view.trashed(REMOVE_KEYS, input.id);
    await carryOut(context, { type: 'erase', open: view, path: record.path, record });
    return {};
  },
});

/** Puts the first item back in front of an iterable. */
async function* all<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  yield first;
  yield* rest;
}

/** Erases all items in the trash of a source that the role may see and remove completely. */
export const trashEmptyAction = defineAction({
  name: 'trashEmpty',
  load: 'listings',
  summary: 'Permanently removes all items in the trash of a source, as far as the role may.',
  keys: EMPTY_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({ source: sourceField }),
  result: z.object({ removed: z.int().describe('Number of removed items.') }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    if (view.source.settings.trash === undefined) return { removed: 0 };
    // It reads as much as a search does.
    return inSlot(context.services.searches, context.signal, turnOf(view.source), async () => {
      const items = view.allTrashed(EMPTY_KEYS, { isBlind: true });
      const { value: first } = await items.next();
      // The hook of the host is not called when there is nothing to erase.
      if (first === undefined) return { removed: 0 };
      const records = all(first, items);
      const path = SourcePath.root;
      const erased = await carryOut(context, { type: 'emptyTrash', open: view, path, records });
      return { removed: erased.length };
    });
  },
});

/** Keys needed at the original path. */
const ORIGIN_KEYS = forBoth('TRASH_RESTORE');

/** Restores an item of the trash to its original path, or into another folder. */
export const trashRestoreAction = defineAction({
  name: 'trashRestore',
  summary: 'Restores an item of the trash. If its name is taken, it gets a number.',
  keys: RESTORE_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({
    source: sourceField,
    id: trashIdField,
    path: filledField
      .pipe(z.union([z.undefined(), pathField]))
      .describe('The target folder; `/` is the root. Default: the former folder.'),
  }),
  result: z.object({
    path: z.string().describe('The folder, as listings write it: `/` at the root.'),
    name: z.string().describe('The name of the restored item.'),
  }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const record = await view.trashed(ORIGIN_KEYS, input.id);
    const folder = input.path ?? record.path.parent;
    requireReachable(view.source.settings, folder);
    const wanted = folder.child(record.path.name);
    const [restored] = await carryOut(context, { type: 'restore', open: view, path: wanted, record });
    const { parent, name } = restored?.path ?? wanted;
    return { path: parent.toString() || '/', name };
  },
});
