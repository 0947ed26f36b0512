import { EditorAnswer, type ManyAnswer } from '../actions/file-answer.ts';
import type { ErrorCode } from '../errors/table.ts';
import type { Logger } from '../basics/log/logger.ts';
import { SUCCESS_CODE } from './envelope.ts';

/** How an error is told to a client. */
export interface ToldFailure {
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: readonly string[];
}

/**
 * The envelope with a result for each item: a success when all of them are, else with the code of the first
 * failure and a message for each. Failures of the service are logged.
 */
export const manyResults = (
  { outcomes }: ManyAnswer,
  tell: (error: unknown) => ToldFailure,
  log: Logger,
): EditorAnswer => {
  const results = outcomes.map(({ name, failure }) => {
    if (failure === undefined) return { name, success: true, code: SUCCESS_CODE };
    const { code, status, messages } = tell(failure.error);
    if (status >= 500)
      log.error('One of several items failed.', { item: name, status, error: failure.error });
    return { name, success: false, code: status, error: code, message: messages.join(' ') };
  });
  const failed = results.filter(({ success }) => !success);
  const [first] = failed;
  if (first === undefined) return new EditorAnswer({ success: true, data: { code: SUCCESS_CODE, results } });
  const messages = failed.map(({ name, message = '' }) => `${name}: ${message}`);
  return new EditorAnswer({
    success: false,
    data: { code: first.code, error: first.error, messages, results },
  });
};
