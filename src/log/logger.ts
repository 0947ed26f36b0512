import { plainValue } from './plain-value.ts';

/** Values that go with a log line. Never secrets: whoever logs redacts. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where the service writes what the client must not read. Hosts may pass their own: `console` fits as it is; a logger that wants the fields
 * first, such as pino, needs its two arguments swapped.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** A logger that writes one JSON object per line. */
export const createLineLogger = (write: (line: string) => void): Logger => {
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      const rest = Object.fromEntries(
        Object.entries(fields).map(([key, value]) => [key, plainValue(value, true)]),
      );
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
