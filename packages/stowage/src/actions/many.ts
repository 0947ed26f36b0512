import * as z from 'zod';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import { itemShape, nameField } from '../parameters/fields.ts';
import type { ActionContext } from './action.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { BatchResponse, type ItemOutcome } from './responses.ts';

export const MOST_ITEMS = 1000;
const AT_ONCE = 4;

/** A list parameter without duplicates; a single value counts as a list of one. */
export const severalOf = <Field extends z.ZodType>(field: Field) =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? [value] : value),
      z
        .array(field)
        .min(1, 'must not be empty')
        .max(MOST_ITEMS, `must not be more than ${String(MOST_ITEMS)}`),
    )
    .optional();

/** Arguments of `superRefine` that reject a request which names one item and several, or none. */
export const requireOneOrSeveral = <One extends string, Several extends string>(one: One, several: Several) =>
  [
    (
      input: Readonly<Partial<Record<One | Several, unknown>>>,
      context: { readonly addIssue: (issue: { code: 'custom'; path: string[]; message: string }) => void },
    ): void => {
      if ((input[one] === undefined) !== (input[several] === undefined)) return;
      const message = input[one] === undefined ? 'is required' : `must not be given together with ${several}`;
      context.addIssue({ code: 'custom', path: [one], message });
    },
    // Also beside problems of other parameters: the response lists every problem.
    {
      when: ({ issues }: z.core.ParsePayload): boolean =>
        !issues.some(({ path: [name] = [] }) => name === one || name === several),
    },
  ] as const;

/** Parameters of actions on one item of a folder or on several. */
export const someOfFolder = (several: string) =>
  z
    .object({ ...itemShape, name: nameField.optional(), names: severalOf(nameField).describe(several) })
    .superRefine(...requireOneOrSeveral('name', 'names'));

const itemResultSchema = z.object({
  name: z.string().describe('The name of the item in the request.'),
  success: z.boolean(),
  code: z.int().describe('220, or the status of the error.'),
  newname: z.string().optional().describe('The new name of the item, if it differs.'),
  error: z.string().optional().describe('A key of the error table.'),
  message: z.string().optional(),
});

/** Result of actions on one item, which has no fields, or on several. */
export const itemsDoneSchema = z.object({
  results: z
    .array(itemResultSchema)
    .optional()
    .describe('For several items: the result of each, in the order of the request.'),
});

/** Whether the order of the items may matter: one lies in another, or two have the same name. */
const dependOnOrder = (names: readonly string[]): boolean => {
  const all = new Set(names);
  const wanted = new Set(names.map((name) => name.slice(name.lastIndexOf('/') + 1)));
  const liesInAnother = (name: string): boolean => {
    for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
      if (all.has(name.slice(0, end))) return true;
    return false;
  };
  return wanted.size < all.size || names.some(liesInAnother);
};

/**
 * Runs `work` for the item of a request, or for each of several, which succeed or fail independently: some
 * concurrently, or one by one where the order matters. Stops when the client disconnects. `work` returns the
 * new name of the item, if it gets one.
 * @throws errors of `work` for a single item; the signal's reason
 */
export const forEachItem = async <Item extends string | SourcePath>(
  { signal }: Pick<ActionContext, 'signal'>,
  {
    one,
    several,
    atOnce = AT_ONCE,
  }: {
    readonly one: Item | undefined;
    readonly several: readonly Item[] | undefined;
    readonly atOnce?: number | undefined;
  },
  work: (item: Item) => Promise<string | undefined>,
): Promise<Record<string, never> | BatchResponse> => {
  if (several === undefined) {
    if (one !== undefined) await work(one);
    return {};
  }
  const items = [...new Map(several.map((item) => [String(item), item]))];
  const outcomes = items.map(([name]): ItemOutcome => ({ name }));
  const limit = dependOnOrder(items.map(([name]) => name)) ? 1 : atOnce;
  await forEachAtOnce(limit, items.entries(), async ([index, [name, item]]) => {
    signal.throwIfAborted();
    try {
      outcomes[index] = { name, newName: await work(item) };
    } catch (error) {
      signal.throwIfAborted();
      outcomes[index] = { name, failure: { error } };
    }
  });
  return new BatchResponse(outcomes);
};
