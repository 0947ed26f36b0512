/** An answer of the service, or of something in front of it, that is not a success. */
export class ConnectorError extends Error {
  override readonly name = 'ConnectorError';
  /** The number of the answer: `data.code`, else the HTTP status. */
  readonly code: number;
  /** The cause, for programs: a key of the error table such as `ALREADY_EXISTS`. Undefined when something else answered. */
  readonly error: string | undefined;
  /** What the service says to the user; for 400 one message per problem. Empty when something else answered. */
  readonly messages: readonly string[];

  constructor(code: number, messages: readonly string[], error?: string) {
    super(messages.join(' ') || `The connector answered ${String(code)}.`);
    this.code = code;
    this.messages = messages;
    this.error = error;
  }
}
