import { humanSize } from '../content/human-size.ts';
import { QuotaExceededError } from '../errors/errors.ts';
import type { Measure } from '../storage/measure.ts';

const HOUR_MS = 60 * 60_000;
/** After a count during which something changed: what changed may be counted twice. */
const SOON_MS = 5 * 60_000;
/** What a process says that has died is believed for so long; a living one says it again before. */
export const BELIEVED_MS = 60_000;

/** What a source may hold; see the setting `quota`. */
export interface QuotaLimits {
  readonly bytes?: number | undefined;
  readonly files?: number | undefined;
}

interface Reservation extends Measure {
  readonly until: number;
  /** For a file whose bytes are still to come: nothing of it is stored. */
  readonly isKept?: boolean | undefined;
}

/** Room that is kept for a file whose bytes are still to come. */
export interface KeptRoom {
  readonly id: string;
  /** Of the source. */
  readonly key: string;
  readonly need: Measure;
}

interface Counting {
  readonly id: string;
  readonly until: number;
  /** What was added since it began; what has left is not taken off. */
  readonly added: Measure;
  readonly isDisturbed: boolean;
  /** Whether something got another path meanwhile: it may have moved behind the walk, which has not seen it. */
  readonly hasMoves: boolean;
}

/** What is known of one source, by all who share it. Forgetting it costs another count. JSON. */
export interface Account {
  /** Absent until it has been counted. */
  readonly used?: Measure | undefined;
  readonly countedAt: number;
  /** When it is to be counted again. */
  readonly dueAt: number;
  readonly counting?: Counting | undefined;
  /** What is about to be stored, by id. */
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
const atLeastNothing = ({ bytes, files }: Measure): Measure => ({
  bytes: Math.max(0, bytes),
  files: Math.max(0, files),
});

/**
 * The account as it is now. What dead processes had reserved may be stored: it counts as that, and another
 * count is due. What they only kept is not stored.
 */
export const accountAt = (account: Account | undefined, now: number): Account => {
  if (account === undefined) return { countedAt: 0, dueAt: 0, reserved: {} };
  const { used, counting, reserved } = account;
  const dead = Object.entries(reserved).filter(([, { until }]) => until <= now);
  const isCountDead = counting !== undefined && counting.until <= now;
  if (dead.length === 0 && !isCountDead) return account;
  const ids = new Set(dead.map(([id]) => id));
  const maybeStored = dead.filter(([, { isKept }]) => isKept !== true);
  return {
    ...account,
    used: used && maybeStored.reduce((sum, [, need]) => plus(sum, atLeastNothing(need)), used),
    counting: isCountDead ? undefined : counting,
    dueAt: maybeStored.length > 0 || isCountDead ? 0 : account.dueAt,
    reserved: Object.fromEntries(Object.entries(reserved).filter(([id]) => !ids.has(id))),
  };
};

/** What is stored, and what is about to be. */
export const takenOf = ({ used, reserved }: Account): Measure | undefined =>
  used && Object.values(reserved).reduce<Measure>((sum, need) => plus(sum, atLeastNothing(need)), used);

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
  taken: Measure | undefined,
  need: Measure,
  { bytes = Infinity }: QuotaLimits,
): QuotaExceededError => {
  const left = bytes - (taken?.bytes ?? Infinity);
  return left >= need.bytes || taken === undefined
    ? notEnoughRoom(undefined, left)
    : notEnoughRoom(bytes, left);
};

/** What changes with every count: a removal that was begun in another epoch may be in the count already. */
export const epochOf = ({ counting, countedAt }: Account): string => counting?.id ?? String(countedAt);

/**
 * Something was stored, or has left, what began in this epoch. What leaves is believed only where no count
 * can know of it: too much is better than too little, and another count comes soon.
 */
export const withAdded = (account: Account, change: Measure, epoch: string, now: number): Account => {
  const { used, counting } = account;
  const isCertain = counting === undefined && epochOf(account) === epoch;
  const sure = isCertain ? change : atLeastNothing(change);
  return {
    ...account,
    used: used && plus(used, sure),
    counting: counting && { ...counting, added: plus(counting.added, sure), isDisturbed: true },
    dueAt: isCertain ? account.dueAt : Math.min(account.dueAt, now + SOON_MS),
  };
};

export const withReserved = (
  account: Account,
  id: string,
  { bytes, files }: Measure,
  now: number,
  isKept?: true,
): Account => ({
  ...account,
  reserved: { ...account.reserved, [id]: { bytes, files, until: now + BELIEVED_MS, isKept } },
});

export const withoutReserved = (account: Account, id: string): Account => {
  const { [id]: _gone, ...reserved } = account.reserved;
  return { ...account, reserved };
};

/** Whatever these ids have reserved, or count, goes on. */
export const renewed = (account: Account, ids: ReadonlySet<string>, now: number): Account => {
  const until = now + BELIEVED_MS;
  const { counting, reserved } = account;
  const kept = Object.entries(reserved).map(
    ([id, one]) => [id, ids.has(id) ? { ...one, until } : one] as const,
  );
  return {
    ...account,
    counting: counting && ids.has(counting.id) ? { ...counting, until } : counting,
    reserved: Object.fromEntries(kept),
  };
};

/** Begins a count when one is due and nobody counts. */
export const withCountIfDue = (account: Account, id: string, now: number): Account => {
  const isDue = account.used === undefined || now >= account.dueAt;
  if (!isDue || account.counting !== undefined) return account;
  const added = { bytes: 0, files: 0 };
  const counting = { id, until: now + BELIEVED_MS, added, isDisturbed: false, hasMoves: false };
  return { ...account, counting, dueAt: now + SOON_MS };
};

/** Something is about to get another path. */
export const withMove = (account: Account): Account =>
  account.counting === undefined
    ? account
    : { ...account, counting: { ...account.counting, isDisturbed: true, hasMoves: true } };

/** Something has got another path, which was begun in this epoch: a count that was running may not know of it. */
export const afterMove = (account: Account, epoch: string, now: number): Account =>
  epochOf(account) === epoch
    ? account
    : withMove({ ...account, dueAt: Math.min(account.dueAt, now + SOON_MS) });

/** Somebody has opened the store anew, or something has left it that nobody has measured. */
export const doubted = (account: Account, now: number, isCertain: boolean): Account => ({
  ...account,
  // A count that runs may have seen what has left.
  counting: account.counting && isCertain ? { ...account.counting, isDisturbed: true } : account.counting,
  dueAt: isCertain ? now : Math.min(account.dueAt, account.countedAt + SOON_MS),
});

/** Ends a count. Without a finding, or when it has taken so long that others count, it says nothing. */
export const counted = (account: Account, id: string, found: Measure | undefined, now: number): Account => {
  const { counting } = account;
  if (counting?.id !== id) return account;
  if (found === undefined) return { ...account, counting: undefined };
  const isStoring = Object.values(account.reserved).some(({ isKept }) => isKept !== true);
  const isCalm = !counting.isDisturbed && !isStoring;
  // What came meanwhile may be in the count already, and what has moved may be missing.
  const sum = plus(found, counting.added);
  const used = counting.hasMoves && account.used !== undefined ? largerOf(account.used, sum) : sum;
  return { ...account, used, counting: undefined, countedAt: now, dueAt: now + (isCalm ? HOUR_MS : SOON_MS) };
};
