import { it } from 'vitest';

/** Before a release everything runs, also what depends on other programs more than on the code. */
export const runsEverything = process.env['STOWAGE_ALL_SERVERS'] === '1';

/** The first cases, which stand for the others unless everything runs. */
export const mostly = <Case>(count: number, cases: readonly Case[]): readonly Case[] =>
  runsEverything ? cases : cases.slice(0, count);

const day = Math.floor(Date.now() / 86_400_000);

/** One of so many shares of the cases, another one each day, unless everything runs. */
export const shareOfDay = <const Case>(shares: number, cases: readonly Case[]): readonly Case[] =>
  runsEverything ? cases : cases.filter((_, index) => index % shares === day % shares);

/** A `test` for rarer cases: one of so many shares runs, another one each day, unless everything runs. */
export const testInTurns = (shares: number) => {
  let count = 0;
  return (title: string, body: () => Promise<void>): void => {
    const isDue = runsEverything || count % shares === day % shares;
    count += 1;
    it.runIf(isDue)(title, body);
  };
};

/** Whether a case is due on one of two servers today, which run it in turn; on both if everything runs. */
export const isInTurn = (server: 0 | 1, title: string): boolean =>
  runsEverything || (title.length + day + server) % 2 === 0;
