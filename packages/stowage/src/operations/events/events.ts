import { type FileHandle, open, stat } from 'node:fs/promises';
import { orAborted } from '../../basics/concurrency/abort.ts';
import { ifCode } from '../../basics/files/system-errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { EventSink, ServiceEvent, WebhookFigures } from '../../config/event.ts';
import type { Settings } from '../../config/settings.ts';
import { InternalError } from '../../errors/errors.ts';
import type { State } from '../state/state.ts';
import { Webhook, type WebhookSettings } from './webhook.ts';

/** Longest wait of `close()` for hooks of the host. */
const HOOKS_MS = 10_000;

interface EventsParts {
  readonly before: ((event: ServiceEvent) => unknown) | undefined;
  readonly after: ((event: ServiceEvent) => unknown) | undefined;
  readonly sinks: readonly EventSink[];
  readonly log: Logger;
}

const REPORT_MS = 60_000;

/** Whether a lasting failure is to be logged: once a minute, so that it does not fill the log. */
const createReportLimit = (): (() => boolean) => {
  let reportedAt = -Infinity;
  return () => {
    const isDue = performance.now() - reportedAt >= REPORT_MS;
    if (isDue) reportedAt = performance.now();
    return isDue;
  };
};

/** Notifies the host and event sinks of changes, before and after they happen. */
export const createEvents = ({ before, after, sinks, log }: EventsParts) => {
  const notify = async (event: ServiceEvent): Promise<void> => {
    try {
      // A copy: what the host changes in it must not reach the audit file and the webhooks.
      await after?.(structuredClone(event));
    } catch (error) {
      log.error('The hook onEvent failed.', { type: event.type, requestId: event.requestId, error });
    }
  };
  const running = new Set<Promise<void>>();
  /** Resolves when all hooks have ended, including those started meanwhile, or when the time is over. */
  const untilHooksEnd = async (): Promise<void> => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), HOOKS_MS);
    try {
      while (running.size > 0) await orAborted(Promise.all(running), late.signal);
    } catch {
      log.error('The hook onEvent did not end in time: events may be lost.', { running: running.size });
    } finally {
      clearTimeout(timer);
    }
  };
  // Each sink counts for itself: one that has failed must not silence another.
  const deliveries = sinks.map((sink) => {
    const mayReport = createReportLimit();
    let lost = 0;
    return async (event: ServiceEvent): Promise<void> => {
      try {
        await sink.take(event);
      } catch (error) {
        lost += 1;
        const { type, requestId } = event;
        if (mayReport()) log.error('An event could not be kept.', { type, requestId, lost, error });
      }
    };
  });
  return {
    /** Whether the host is asked before changes. */
    asks: before !== undefined,
    /** Whether a hook or sink receives events. */
    reports: after !== undefined || sinks.length > 0,
    /**
     * Asks the host whether a change is allowed. Returns another name for a new file or folder, if any.
     * @throws the host's error, which rejects the change
     */
    before: async (event: ServiceEvent): Promise<string | undefined> => {
      const returned: unknown = await before?.(event);
      if (returned === undefined || returned === null) return undefined;
      if (typeof returned === 'string') return returned;
      throw new InternalError({ detail: 'the hook beforeEvent returned neither a name nor nothing' });
    },
    /** Reports a change. Never throws: listeners cannot make an action fail. */
    emit: async (event: ServiceEvent): Promise<void> => {
      // The response does not wait for the host.
      const notified = notify(event).finally(() => running.delete(notified));
      running.add(notified);
      await Promise.all(deliveries.map((deliver) => deliver(event)));
    },
    /** State of each webhook, in the order of the setting. */
    webhooks: async (): Promise<readonly WebhookFigures[]> => {
      const figures = await Promise.all(sinks.map(async (sink) => sink.figures?.()));
      return figures.filter((one) => one !== undefined);
    },
    /** Waits up to ten seconds for running hooks, then closes the sinks. */
    close: async (): Promise<void> => {
      await untilHooksEnd();
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
};

export type Events = ReturnType<typeof createEvents>;

/** Logs that events wait for a webhook that was removed, or has another address now. */
const reportForgotten = async (state: State, log: Logger): Promise<void> => {
  // A directory that cannot be read is reported by the webhooks that use it.
  const waiting = (await state.forgotten?.().catch(() => 0)) ?? 0;
  if (waiting === 0) return;
  const message = 'Events wait for a webhook that is no longer set; they are sent if its url is set again.';
  log.warn(message, { waiting });
};

export const createSinks = (
  { audit, webhooks }: Pick<Settings, 'audit' | 'webhooks'>,
  state: State,
  log: Logger,
): readonly EventSink[] => {
  const sinks: EventSink[] = audit === undefined ? [] : [new AuditFile(audit.file, log)];
  // Several webhooks may have the same URL, with different secrets or types: each has its own queue.
  const numberOf = ({ url }: WebhookSettings, index: number): number =>
    webhooks.slice(0, index).filter((other) => other.url === url).length;
  sinks.push(...webhooks.map((one, index) => new Webhook(one, { state, log, number: numberOf(one, index) })));
  void reportForgotten(state, log);
  return sinks;
};

const NEWLINE = 0x0a;

/** Whether a file ends within a line, as after a crash or a full disk. False where it cannot be read. */
const endsWithinLine = async (path: string): Promise<boolean> => {
  const { size } = await stat(path);
  // A pipe or device has no size.
  if (size === 0) return false;
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] !== NEWLINE;
  } finally {
    await file.close();
  }
};

/** Maximum lines that wait while the file cannot be written; beyond that the oldest are dropped. */
const MAX_WAITING = 10_000;
const RETRY_MS = 1000;

/**
 * An audit log of JSON lines, one per event, that log rotation may rename at any time. While it cannot be
 * written, lines wait in memory: bounded, and lost with the process.
 */
class AuditFile implements EventSink {
  readonly #path: string;
  readonly #log: Logger;
  readonly #waiting: string[] = [];
  #file: FileHandle | undefined;
  /** The file ends with an incomplete line. */
  #isTorn = false;
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #lost = 0;
  readonly #mayReport = createReportLimit();
  /**
   * Refers to the file until it is closed: from Node 25 on, an open one that is collected as garbage, with a
   * connector that the host has dropped without a close, ends the process.
   */
  readonly #held = setInterval(() => this.#file, 2 ** 31 - 1).unref();

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  take(event: ServiceEvent): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#waiting.shift();
      this.#lost += 1;
    }
    this.#waiting.push(`${JSON.stringify(event)}\n`);
    if (this.#retry === undefined) this.#begin();
    return Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#writing;
    clearTimeout(this.#retry);
    await this.#writeAll();
    clearTimeout(this.#retry);
    const lost = this.#lost + this.#waiting.length;
    if (lost > 0) this.#log.error('Lines of the audit file are lost.', { lost });
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
    clearInterval(this.#held);
  }

  #begin(): void {
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
  }

  async #writeAll(): Promise<void> {
    this.#retry = undefined;
    for (let line = this.#waiting.shift(); line !== undefined; line = this.#waiting.shift()) {
      try {
        await this.#append(line);
      } catch (error) {
        this.#waiting.unshift(line);
        const waiting = this.#waiting.length;
        if (this.#mayReport())
          this.#log.error('The audit file cannot be written.', { waiting, lost: this.#lost, error });
        this.#retry = setTimeout(() => {
          this.#retry = undefined;
          this.#begin();
        }, RETRY_MS).unref();
        return;
      }
    }
  }

  /** Appends a line with one write: processes may share the file. A partial line is repeated. */
  async #append(line: string): Promise<void> {
    const file = await this.#opened();
    const text = Buffer.from(this.#isTorn ? `\n${line}` : line);
    const { bytesWritten } = await file.write(text);
    this.#isTorn = bytesWritten < text.length && (this.#isTorn || bytesWritten > 0);
    if (bytesWritten < text.length) throw new Error('A line could not be written whole.');
  }

  /** The file that currently has the name: log rotation may have renamed the previous one. */
  async #opened(): Promise<FileHandle> {
    const [ours, named] = await Promise.all([this.#file?.stat(), stat(this.#path).catch(ifCode('ENOENT'))]);
    if (this.#file !== undefined && ours?.ino === named?.ino && ours?.dev === named?.dev) return this.#file;
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
    this.#file = await open(this.#path, 'a', 0o640);
    this.#isTorn = await endsWithinLine(this.#path).catch(() => false);
    return this.#file;
  }
}
