import type { Change, ChangeContext, Create, Done, Edit, Passage, Replace, Stage, Stored } from './change.ts';
import { describing } from './describing.ts';
import { events, hooks } from './events.ts';
import { following } from './follow.ts';
import { inspection } from './inspection.ts';
import { lock } from './lock.ts';
import { moved } from './moved.ts';
import { quota } from './quota.ts';
import { contents, rights } from './rights.ts';
import { store } from './store.ts';
import { trash } from './trash.ts';

/**
 * What every change passes: rights > lock > contents > inspection > hooks > quota > trash > store > names >
 * following > events > describing. Each stage encloses those below it; the four that follow what has happened stand
 * where they begin.
 */
const STAGES: readonly Stage[] = [
  /** Has the host fill what is not said about new pictures, in the background. */
  describing,
  /** Tells what has happened, and nothing else. */
  events,
  /** The access rules at the paths themselves. */
  rights,
  /** Waits for others that move, replace or remove the same, and looks again. */
  lock,
  /** Words and thumbnails follow their files. */
  following,
  /** Remembers what had which name. */
  moved,
  /** The access rules for what a folder holds, while nothing else moves it. */
  contents,
  /** Has clamd and the host look at what users send. */
  inspection,
  /** Asks the host, who may refuse, or give another name: then it begins anew with that. */
  hooks,
  /** The room that it takes, or gives back. */
  quota,
  /** Keeps what is removed or replaced, and brings it back. */
  trash,
  /** Does it. */
  store,
];

const pass = (
  passage: Passage,
  change: Change,
  [stage, ...rest]: readonly Stage[],
): Promise<Change | undefined> =>
  stage === undefined
    ? Promise.resolve(undefined)
    : stage(passage, change, (next) => pass(passage, next, rest));

/** What the request has seen at these paths is not so any more. */
const forgetLooks = (change: Change, done: readonly Done[]): void => {
  if (change.type === 'document') return;
  for (const { path } of [change, ...done]) change.open.forget(path);
  if ('item' in change) change.from.forget(change.item.path);
};

export function carryOut(context: ChangeContext, change: Create | Replace | Edit): Promise<readonly Stored[]>;
export function carryOut(context: ChangeContext, change: Change): Promise<readonly Done[]>;
/**
 * Carries out a change: the only way by which anything in a source is changed for a request. What has come of
 * it comes back: of a form each file, in their order.
 * @throws AccessDeniedError, NotFoundError, AlreadyExistsError, QuotaExceededError, errors of the host, of names,
 *   content and the store; the signal's reason
 */
export async function carryOut(context: ChangeContext, change: Change): Promise<readonly Done[]> {
  const done: Done[] = [];
  const passage: Passage = { ...context, done, carry: (part, as = context) => carryOut(as, part) };
  try {
    for (let next: Change | undefined = change; next !== undefined;) next = await pass(passage, next, STAGES);
    return done;
  } finally {
    forgetLooks(change, done);
  }
}
