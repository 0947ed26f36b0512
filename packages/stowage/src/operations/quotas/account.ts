import { humanSize } from '../../basics/content/message-values.ts';
import { QuotaExceededError } from '../../errors/errors.ts';
import type { Measure } from '../../storage/measure.ts';

const RECOUNT_MS = 15 * 60_000;
/** After a count with concurrent changes, which the result may include twice. */
const SOON_MS = 5 * 60_000;
/** A reservation that was not renewed for this time belongs to a dead process. */
export const RESERVATION_TTL_MS = 60_000;
const UNKNOWN = -1;
export const NOTHING: Measure = { bytes: 0, files: 0 };

/** Limits of a source; see the setting `quota`. */
export interface QuotaLimits {
  readonly bytes?: number | undefined;
  readonly files?: number | undefined;
}

/** Space that a running change needs. */
export interface Need extends Measure {
  /** The change moves an item, which a running count may therefore miss. */
  readonly isMove?: boolean | undefined;
  /** Path of the item that the change removes or replaces. */
  readonly at?: string | undefined;
}

interface Reservation extends Need {
  readonly until: number;
  /** The `counts` of the account when the change began; `UNKNOWN`: the change frees nothing. */
  readonly counts: number;
}

/** Space in a source that one process has reserved, perhaps for a file whose bytes have not arrived yet. */
export interface KeptRoom {
  readonly id: string;
  readonly key: string;
  readonly need: Need;
}

interface Counting {
  /** Id of its reservation, which needs no space and ends with the count. */
  readonly id: string;
  /** Space added since the count began; removals are not subtracted. */
  readonly added: Measure;
  readonly hasMoves: boolean;
}

/** State of one source, shared by all instances. Losing it costs another count. JSON. */
export interface Account {
  /** Absent until the source has been counted. */
  readonly used?: Measure | undefined;
  readonly counts: number;
  readonly dueAt: number;
  readonly counting?: Counting | undefined;
  /** Running changes, by id. */
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

/** A smaller replacement frees space only when it is stored. */
const atLeastNothing = (change: Measure): Measure => largerOf(change, NOTHING);

/** Marks an unknown change in usage: the next use counts the source. */
export const markStale = <Known extends Pick<Account, 'dueAt'>>(account: Known, now: number): Known => ({
  ...account,
  dueAt: Math.min(account.dueAt, now),
});

/** Whether a path equals another one, or is a folder above it. */
const isOver = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && `${other}/`.startsWith(`${one}/`);

/**
 * Reserves the space of a change, replacing the id's previous reservation. Where another instance is already removing
 * or replacing the same item, only the other change frees its space, and a count is due. `known` is the `counts` of
 * the reservation when it is renewed.
 */
export const withReserved = (
  { counting, reserved, ...account }: Account,
  id: string,
  { bytes, files, isMove, at }: Need,
  now: number,
  known?: number,
): Account => {
  const isShared =
    known === undefined &&
    Object.entries(reserved).some(
      ([other, need]) => other !== id && (isOver(at, need.at) || isOver(need.at, at)),
    );
  const until = now + RESERVATION_TTL_MS;
  const counts = known ?? (isShared ? UNKNOWN : account.counts);
  const own = { bytes, files, isMove, at, counts, until };
  return {
    ...(isShared ? markStale(account, now) : account),
    counting: counting && { ...counting, hasMoves: counting.hasMoves || isMove === true },
    reserved: { ...reserved, [id]: own },
  };
};

/** Renews the reservations of one process, and restores missing ones. */
export const renewed = (account: Account, own: readonly KeptRoom[], now: number): Account =>
  own.reduce(
    (sum, { id, need }) => withReserved(sum, id, need, now, account.reserved[id]?.counts ?? UNKNOWN),
    account,
  );

/**
 * Ends the change with this id, which has added this amount, or with negative figures removed it. A count
 * that ran concurrently may include the change: then the usage is rounded up, and another count follows soon.
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
 * The current account, for a process whose reservations are in `own`. Reservations of dead processes count as
 * stored, and another count becomes due.
 */
export const accountAt = (account: Account, own: ReadonlyMap<string, unknown>, now: number): Account =>
  Object.entries(account.reserved)
    .filter(([id, { until }]) => until <= now && !own.has(id))
    .reduce((rest, [id, need]) => markStale(settled(rest, id, need, now), now), account);

/** Starts a count when one is due and none is running. */
export const withCountIfDue = (account: Account, id: string, now: number): Account => {
  // A time further ahead was written before the clock was set back.
  const isDue = account.used === undefined || now >= account.dueAt || account.dueAt > now + RECOUNT_MS;
  if (!isDue || account.counting !== undefined) return account;
  const hasMoves = Object.values(account.reserved).some(({ isMove }) => isMove);
  const counting = { id, added: NOTHING, hasMoves };
  return withReserved({ ...account, counting, dueAt: now + RECOUNT_MS }, id, NOTHING, now);
};

/** Ends a count. Without a result, or when another count has replaced it, the usage stays. */
export const counted = (account: Account, id: string, found: Measure | undefined, now: number): Account => {
  const { counting, used, counts, dueAt } = account;
  if (counting?.id !== id) return account;
  const rest = settled(account, id, NOTHING, now);
  if (found === undefined) return { ...rest, dueAt: now + SOON_MS };
  // Concurrent additions may be counted already, and moved items may be missing.
  const sum = plus(found, counting.added);
  return {
    ...rest,
    used: counting.hasMoves && used !== undefined ? largerOf(used, sum) : sum,
    counts: counts + 1,
    dueAt: Math.max(dueAt, now + SOON_MS),
  };
};

/** Stored and reserved space, without the reservation with this id; undefined before the first count. */
export const takenOf = ({ used, reserved }: Account, id: string | undefined): Measure | undefined =>
  used &&
  Object.entries(reserved).reduce<Measure>(
    (sum, [other, need]) => (other === id ? sum : plus(sum, atLeastNothing(need))),
    used,
  );

/** Whether this additional space is within the limits. A change that needs none always fits. */
export const fits = (
  taken: Measure,
  need: Measure,
  { bytes = Infinity, files = Infinity }: QuotaLimits,
): boolean => {
  const isTooLarge = need.bytes > 0 && taken.bytes + need.bytes > bytes;
  const isTooMany = need.files > 0 && taken.files + need.files > files;
  return !isTooLarge && !isTooMany;
};

/** The error for a full quota: with figures where `left` bytes are known to be too few. */
export const notEnoughRoom = (limit: number | undefined, left: number | undefined): QuotaExceededError => {
  if (limit === undefined || left === undefined) return new QuotaExceededError();
  return new QuotaExceededError({ details: { left: humanSize(Math.max(0, left)), limit: humanSize(limit) } });
};

/** The error for `need` when `taken` is used already. */
export const doesNotFit = (
  taken: Measure,
  need: Measure,
  { bytes = Infinity }: QuotaLimits,
): QuotaExceededError => {
  const left = bytes - taken.bytes;
  return notEnoughRoom(left >= need.bytes ? undefined : bytes, left);
};
