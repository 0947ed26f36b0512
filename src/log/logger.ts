/** Values that go with a log line. Never secrets: whoever logs redacts. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where the service writes what the client must not read. Hosts may pass their own (pino and console fit). */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Causes below causes that a line still shows. */
const MOST_CAUSES = 5;

const plainError = (error: Error, causes: number): unknown => {
  const { name, message, stack, cause } = error;
  const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    stack,
    ...(cause === undefined || causes === 0 ? {} : { cause: plain(cause, causes - 1) }),
  };
};

const plain = (value: unknown, causes = MOST_CAUSES): unknown =>
  value instanceof Error ? plainError(value, causes) : value;

/** A logger that writes one JSON object per line. */
export const createLineLogger = (write: (line: string) => void): Logger => {
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      const rest = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plain(value)]));
      write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...rest })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

/** The default logger: JSON lines on standard error. */
export const createStderrLogger = (): Logger => createLineLogger((line) => process.stderr.write(line));

const nothing = (): void => undefined;

/** A logger that drops everything. */
export const createSilentLogger = (): Logger => ({
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});
