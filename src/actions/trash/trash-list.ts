import * as z from 'zod';
import { sourceField } from '../../parameters/fields.ts';
import { trashContents, type TrashRecord } from '../../trash/trash.ts';
import { type ActionContext, defineAction } from '../action.ts';
import { countField } from '../listing/fields.ts';
import { openedSource, sourcesFor, type OpenSource } from '../open-source.ts';
import { trashPolicyOf } from '../removal.ts';
import { isAllowed, isVisible, trashItem, trashItemSchema } from './item.ts';

/** Each costs a reading. */
const MOST = 1000;

interface Found {
  readonly open: OpenSource;
  readonly record: TrashRecord;
}

async function* visibleIn(open: OpenSource, signal: AbortSignal): AsyncGenerator<Found, void, undefined> {
  for await (const record of trashContents(open.storage, { signal })) {
    if (isVisible(open, record) && isAllowed(open, 'TRASH_LIST', record)) yield { open, record };
  }
}

/** Joins lists that are each in order, the newest first, and reads no further ahead than it must. */
async function* newestFirst(
  lists: readonly AsyncGenerator<Found, void, undefined>[],
): AsyncGenerator<Found, void, undefined> {
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

const openTrashes = async (context: ActionContext, name: string | undefined): Promise<OpenSource[]> => {
  const opened: OpenSource[] = [];
  for (const source of sourcesFor(context.sources, name)) {
    const policy = trashPolicyOf(source.settings);
    if (policy === undefined) continue;
    const open = await openedSource(context, source);
    context.services.trash.tend(open.storage, policy, context.holdSources);
    opened.push(open);
  }
  return opened;
};

/** Lists what was removed and can be restored, as far as the role could see it where it was. */
export const trashListAction = defineAction({
  name: 'trashList',
  summary: 'Lists what was removed and can be restored, the newest first.',
  changes: false,
  parameters: z.object({
    source: sourceField,
    offset: countField.describe('How many items come before the page.'),
    limit: countField.describe('The most items of a page; never more than 1000.'),
  }),
  result: z.object({ items: z.array(trashItemSchema) }),
  run: async (context, { source, offset = 0, limit = MOST }) => {
    const most = Math.min(limit, MOST);
    const items: z.output<typeof trashItemSchema>[] = [];
    if (most === 0) return { items };
    const opened = await openTrashes(context, source);
    let passed = 0;
    for await (const { open, record } of newestFirst(opened.map((one) => visibleIn(one, context.signal)))) {
      passed += 1;
      if (passed <= offset) continue;
      items.push(trashItem(open, record));
      if (items.length === most) break;
    }
    return { items };
  },
});
