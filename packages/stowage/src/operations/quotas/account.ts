import { humanSize } from '../../basics/content/human-size.ts';
import { QuotaExceededError } from '../../errors/errors.ts';
import type { Measure } from '../../storage/measure.ts';

const RECOUNT_MS = 15 * 60_000;
/** After a count beside which something changed: what changed may be in the figure twice. */
const SOON_MS = 5 * 60_000;
/** A reservation that its process has not renewed for so long is one of a dead process. */
export const RESERVATION_TTL_MS = 60_000;
export const NOTHING: Measure = { bytes: 0, files: 0 };

/** What a source may hold; see the setting `quota`. */
export interface QuotaLimits {
  readonly bytes?: number | undefined;
  readonly files?: number | undefined;
}

/** What a change takes while it is under way. */
export interface Need extends Measure {
  /** The change gives something another path: it may move behind the walk of a count, which misses it then. */
  readonly isMove?: boolean | undefined;
}

interface Reservation extends Need {
  readonly until: number;
  /** The `counts` of the account when the change began. */
  readonly counts: number;
}

/** Room in a source that one process has reserved, perhaps for a file whose bytes are still to come. */
export interface KeptRoom {
  readonly id: string;
  /** Of the source. */
  readonly key: string;
  readonly need: Need;
}

interface Counting {
  /** Of its reservation, which takes nothing and ends with the count. */
  readonly id: string;
  /** What was added since the count began; what has left is not taken off. */
  readonly added: Measure;
  readonly hasMoves: boolean;
}

/** What is known of one source, by all who share it. Forgetting it costs another count. JSON. */
export interface Account {
  /** Absent until the source has been counted. */
  readonly used?: Measure | undefined;
  readonly counts: number;
  readonly dueAt: number;
  readonly counting?: Counting | undefined;
  /** What is under way, by id. */
  readonly reserved: Readonly<Record<string, Reservation>>;
}

const largerOf = (one: Measure, other: Measure): Measure => ({
  bytes: Math.max(one.bytes, other.bytes),
  files: Math.max(one.files, other.files),
});

const plus = (one: Measure, other: Measure): Measure => ({
  bytes: Math.max(0, one.bytes + other.bytes),
  files: Math.max(0, one.files + other.files),
});

/** What replaces something larger makes room when it is stored, not before. */
const atLeastNothing = (change: Measure): Measure => largerOf(change, NOTHING);

/** The source has changed in a way that no figure tells: the next use counts it. */
export const markStale = (account: Account, now: number): Account => ({
  ...account,
  dueAt: Math.min(account.dueAt, now),
});

/** Reserves what a change needs, in place of what the id has reserved before. */
export const withReserved = (
  { counting, reserved, ...account }: Account,
  id: string,
  { bytes, files, isMove }: Need,
  now: number,
  counts = account.counts,
): Account => ({
  ...account,
  counting: counting && { ...counting, hasMoves: counting.hasMoves || isMove === true },
  reserved: { ...reserved, [id]: { bytes, files, isMove, counts, until: now + RESERVATION_TTL_MS } },
});

/** Renews the reservations of one process. What was forgotten of them is reserved again. */
export const renewed = (account: Account, own: readonly KeptRoom[], now: number): Account =>
  own.reduce(
    (sum, { id, need }) => withReserved(sum, id, need, now, account.reserved[id]?.counts ?? -1),
    account,
  );

/**
 * Ends the change with this id, which has added so much or, with negative figures, removed it. A count that
 * has run beside the change may know of it: then the figure is rounded up, and another count comes soon.
 */
export const settled = (account: Account, id: string, change: Measure, now: number): Account => {
  const { [id]: own, ...reserved } = account.reserved;
  const { used, counts } = account;
  const counting = account.counting?.id === id ? undefined : account.counting;
  const added = atLeastNothing(change);
  const isKnown = own?.counts === counts;
  return {
    counts,
    reserved,
    used: used && plus(used, isKnown ? change : added),
    counting: counting && { ...counting, added: plus(counting.added, added) },
    dueAt: isKnown && !counting ? account.dueAt : Math.min(account.dueAt, now + SOON_MS),
  };
};

/**
 * The account as it is now, for a process that has reserved what `own` names. What dead processes had
 * reserved counts as stored, and another count is due.
 */
export const accountAt = (account: Account, own: ReadonlyMap<string, unknown>, now: number): Account =>
  Object.entries(account.reserved)
    .filter(([id, { until }]) => until <= now && !own.has(id))
    .reduce((rest, [id, need]) => markStale(settled(rest, id, need, now), now), account);

/** Begins a count when one is due and none is running. */
export const withCountIfDue = (account: Account, id: string, now: number): Account => {
  const isDue = account.used === undefined || now >= account.dueAt;
  if (!isDue || account.counting !== undefined) return account;
  const hasMoves = Object.values(account.reserved).some(({ isMove }) => isMove);
  const counting = { id, added: NOTHING, hasMoves };
  return withReserved({ ...account, counting, dueAt: now + RECOUNT_MS }, id, NOTHING, now);
};

/** Ends a count. Without a finding, or when it has taken so long that others count, it says nothing. */
export const counted = (account: Account, id: string, found: Measure | undefined, now: number): Account => {
  const { counting, used, counts, dueAt } = account;
  if (counting?.id !== id) return account;
  const rest = settled(account, id, NOTHING, now);
  if (found === undefined) return { ...rest, dueAt: now + SOON_MS };
  // What came meanwhile may be in the count already, and what has moved may be missing.
  const sum = plus(found, counting.added);
  return {
    ...rest,
    used: counting.hasMoves && used !== undefined ? largerOf(used, sum) : sum,
    counts: counts + 1,
    dueAt: Math.max(dueAt, now + SOON_MS),
  };
};

/** What is stored and what is about to be, without the reservation with this id; undefined before a count. */
export const takenOf = ({ used, reserved }: Account, id: string | undefined): Measure | undefined =>
  used &&
  Object.entries(reserved).reduce<Measure>(
    (sum, [other, need]) => (other === id ? sum : plus(sum, atLeastNothing(need))),
    used,
  );

/** Whether so much more is within the limits. What takes nothing always is. */
export const fits = (
  taken: Measure,
  need: Measure,
  { bytes = Infinity, files = Infinity }: QuotaLimits,
): boolean => {
  const isTooLarge = need.bytes > 0 && taken.bytes + need.bytes > bytes;
  const isTooMany = need.files > 0 && taken.files + need.files > files;
  return !isTooLarge && !isTooMany;
};

/** The refusal of what does not fit in: with figures where `left` bytes are known to be too few. */
export const notEnoughRoom = (limit: number | undefined, left: number | undefined): QuotaExceededError => {
  if (limit === undefined || left === undefined) return new QuotaExceededError();
  return new QuotaExceededError({
    details: { left: humanSize(Math.max(0, left)), limit: humanSize(limit) },
  });
};

/** The refusal of `need` where `taken` is used already. */
export const doesNotFit = (
  taken: Measure,
  need: Measure,
  { bytes = Infinity }: QuotaLimits,
): QuotaExceededError => {
  const left = bytes - taken.bytes;
  return notEnoughRoom(left >= need.bytes ? undefined : bytes, left);
};
