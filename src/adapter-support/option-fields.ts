import { z } from 'zod';

/** Text in the options of an adapter. */
export const textOption = z.string({
  error: ({ input }) => (input === undefined ? 'is required' : 'must be text'),
});

/** Text that is not empty. */
export const filledOption = textOption.min(1, 'must not be empty');

/** Yes or no. */
export const flagOption = z.boolean('must be true or false');

/** A time of more than zero and at most so many seconds. */
export const secondsOption = (most: number) =>
  z
    .number('must be a number of seconds')
    .positive('must be more than 0 seconds')
    .max(most, `must be at most ${String(most)} seconds`);

/** A whole number between two others. */
export const countOption = (least: number, most: number) =>
  z
    .int('must be a whole number')
    .min(least, `must be at least ${String(least)}`)
    .max(most, `must be at most ${String(most)}`);

const problemsOfIssue = (issue: z.core.$ZodIssue): readonly string[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => `${[...issue.path, key].join('.')}: is not a known key`)
    : [`${issue.path.join('.')}: ${issue.message}`];

/** What is wrong with the options of an adapter, in the form that `parseOptions` of its factory returns. The schema's messages are in plain words. */
export const problemsOfOptions = ({ issues }: z.ZodError): readonly string[] =>
  issues.flatMap(problemsOfIssue);
