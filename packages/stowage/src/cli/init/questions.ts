import { createInterface } from 'node:readline/promises';

/** What one may choose, in the order of the numbers that people type. */
export interface Choice<Value extends string> {
  readonly value: Value;
  readonly text: string;
}

/** Asks a person at a terminal; the first choice and the given default are taken where nothing is typed. */
export interface Questions {
  text(question: string, preset: string): Promise<string>;
  choose<Value extends string>(
    question: string,
    choices: readonly [Choice<Value>, ...Choice<Value>[]],
  ): Promise<Value>;
  close(): void;
}

/** The input has ended before all was answered. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Answers every question with its default. */
export const createSilence = (): Questions => ({
  text: (_question, preset) => Promise.resolve(preset),
  choose: (_question, [first]) => Promise.resolve(first.value),
  close: () => undefined,
});

/** Asks on standard error, so that what is printed can still be piped, and reads standard input. */
export const createQuestions = (): Questions => {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const input = lines[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question);
    const line = await input.next();
    if (line.done === true) throw new NoAnswerError();
    return line.value.trim();
  };
  return {
    text: async (question, preset) => (await ask(`${question} [${preset}]: `)) || preset,
    choose: async (question, choices) => {
      const list = choices.map(({ text }, index) => `  ${String(index + 1)}  ${text}\n`).join('');
      for (;;) {
        const answer = (await ask(`${question}\n${list}Number [1]: `)) || '1';
        const chosen = choices[Number(answer) - 1];
        if (chosen !== undefined) return chosen.value;
        process.stderr.write(`There is no ${answer}.\n`);
      }
    },
    close: () => lines.close(),
  };
};
