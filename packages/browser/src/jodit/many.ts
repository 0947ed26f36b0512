import { type Answer, type Calls, isRecord } from './calls.ts';
import { counted, fill, type Plural, type Texts } from './texts/texts.ts';

/** Most items of one request, and most bytes of their names: the connector takes 1,000 and 100 KB. */
const MOST = 500;
const MOST_BYTES = 60_000;

/** Names that a message or a question lists; of more it says how many. */
export const NAMED = 8;

/** What has become of several items. */
export interface Outcome<Item> {
  readonly done: readonly Item[];
  readonly failed: readonly { readonly item: Item; readonly reason: string }[];
}

/** Something that is done to several items. */
export interface Work<Item> {
  /** The request for items that have these parameters in common, without the list of them. */
  readonly fieldsOf: (item: Item) => Readonly<Record<string, string>>;
  /** The parameter that lists several items, and how one is named there. */
  readonly list: 'names' | 'froms';
  readonly nameOf: (item: Item) => string;
  /** Does it to one item. */
  readonly one: (item: Item) => Promise<unknown>;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Items whose requests differ in nothing but the list, in portions that a request holds. */
const portionsOf = <Item>(
  items: readonly Item[],
  { fieldsOf, nameOf }: Work<Item>,
): readonly (readonly Item[])[] => {
  const encoder = new TextEncoder();
  const portions = new Map<string, { list: Item[]; bytes: number }[]>();
  for (const item of items) {
    const key = JSON.stringify(fieldsOf(item));
    const bytes = encoder.encode(nameOf(item)).length;
    const group = portions.get(key) ?? [];
    const last = group.at(-1);
    portions.set(key, group);
    if (last === undefined || last.list.length === MOST || last.bytes + bytes > MOST_BYTES)
      group.push({ list: [item], bytes });
    else {
      last.list.push(item);
      last.bytes += bytes;
    }
  }
  return [...portions.values()].flat().map(({ list }) => list);
};

/** What an answer says of each item; undefined when it speaks of none. */
const resultsIn = ({ data }: Answer): ReadonlyMap<unknown, Readonly<Record<string, unknown>>> | undefined => {
  const { results } = data;
  if (!Array.isArray(results)) return undefined;
  return new Map(results.filter(isRecord).map((result) => [result['name'], result]));
};

/** Whether an answer without results comes from a service that does not know lists. */
export const knowsNoLists = ({ success, status }: Answer): boolean =>
  success || status === 400 || status === 422;

const inTurn = async <Item>(items: readonly Item[], { one }: Work<Item>): Promise<Outcome<Item>> => {
  const done: Item[] = [];
  const failed: { item: Item; reason: string }[] = [];
  for (const item of items) {
    try {
      await one(item);
      done.push(item);
    } catch (error) {
      failed.push({ item, reason: reasonOf(error) });
    }
  }
  return { done, failed };
};

/** Names for a line of text: some of them, and how many more there are. */
export const listed = (texts: Texts, names: readonly string[]): string => {
  const more = names.length - NAMED;
  const shown = names.slice(0, NAMED).join(', ');
  return more > 0 ? `${shown} ${counted(texts, texts.andMore, more)}` : shown;
};

/** One message about all items: what was done, else how much of it, and which items were not, and why. */
export const messageOf = <Item extends { readonly name: string }>(
  texts: Texts,
  { all, some }: { readonly all: Plural; readonly some: string },
  { done, failed }: Outcome<Item>,
): string => {
  const total = done.length + failed.length;
  const first = [...done, ...failed.map(({ item }) => item)][0]?.name ?? '';
  if (failed.length === 0) return counted(texts, all, total, { name: first });
  const reasons = [...new Set(failed.map(({ reason }) => reason))].map((reason) => {
    const names = failed.filter((one) => one.reason === reason).map(({ item }) => item.name);
    return `${listed(texts, names)}: ${reason}`;
  });
  if (total === 1) return reasons.join('\n');
  const numbers = new Intl.NumberFormat(texts.locale);
  return [fill(some, { done: numbers.format(done.length), total: numbers.format(total) }), ...reasons].join(
    '\n',
  );
};

/** Does something to several items, by as few requests as can be. Never throws. */
export type DoToMany = <Item>(items: readonly Item[], work: Work<Item>) => Promise<Outcome<Item>>;

/**
 * One request for all items, where the service offers that; else one after the other. In Jodit 4.15.13 each
 * item is a request, and all of them start at the same time.
 */
export const createDoToMany = (calls: Calls): DoToMany => {
  let isOffered = true;
  const atOnce = async <Item>(items: readonly Item[], work: Work<Item>): Promise<Outcome<Item>> => {
    if (!isOffered || items.length < 2) return inTurn(items, work);
    const [first] = items;
    const shared = first === undefined ? {} : work.fieldsOf(first);
    const answer = await calls.send({ ...shared, [work.list]: items.map(work.nameOf) });
    const results = resultsIn(answer);
    if (results === undefined) {
      if (!knowsNoLists(answer)) throw new Error(answer.message);
      isOffered = false;
      return inTurn(items, work);
    }
    const isDone = (item: Item): boolean => results.get(work.nameOf(item))?.['success'] === true;
    const whyNot = (item: Item): string => {
      const told = results.get(work.nameOf(item))?.['message'];
      return typeof told === 'string' ? told : answer.message;
    };
    return {
      done: items.filter(isDone),
      failed: items.filter((item) => !isDone(item)).map((item) => ({ item, reason: whyNot(item) })),
    };
  };
  return async (items, work) => {
    const outcomes: Outcome<(typeof items)[number]>[] = [];
    for (const portion of portionsOf(items, work)) {
      const failed = (error: unknown) => portion.map((item) => ({ item, reason: reasonOf(error) }));
      outcomes.push(
        await atOnce(portion, work).catch((error: unknown) => ({ done: [], failed: failed(error) })),
      );
    }
    return {
      done: outcomes.flatMap(({ done }) => done),
      failed: outcomes.flatMap(({ failed }) => failed),
    };
  };
};
