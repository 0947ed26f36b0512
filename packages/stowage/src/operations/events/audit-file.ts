import { open, stat, type FileHandle } from 'node:fs/promises';
import { ifCode } from '../../basics/files/system-errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { EventSink, ServiceEvent } from '../../config/event.ts';

/** Maximum lines that wait while the file cannot be written; beyond that the oldest are dropped. */
const MAX_WAITING = 10_000;
const RETRY_MS = 1000;
const COMPLAINT_MS = 60_000;

class AuditFile implements EventSink {
  readonly #path: string;
  readonly #log: Logger;
  readonly #waiting: string[] = [];
  #file: FileHandle | undefined;
  /** The file ends with an incomplete line, because the disk was full. */
  #isTorn = false;
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #lost = 0;
  #complainedAt = -Infinity;

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
    await this.#file?.close().catch(() => undefined);
    this.#file = undefined;
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
        this.#complain(error);
        this.#retry = setTimeout(() => {
          this.#retry = undefined;
          this.#begin();
        }, RETRY_MS).unref();
        return;
      }
    }
  }

  /**
   * Appends a line with one write, because several processes may append to one file. After a partial write,
   * the line is repeated on a new line.
   */
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
    this.#isTorn = false;
    return this.#file;
  }

  #complain(error: unknown): void {
    if (performance.now() - this.#complainedAt < COMPLAINT_MS) return;
    this.#complainedAt = performance.now();
    this.#log.error('The audit file cannot be written.', {
      waiting: this.#waiting.length,
      lost: this.#lost,
      error,
    });
  }
}

/**
 * An audit log of JSON lines, one per event, that log rotation may rename at any time. While it cannot be
 * written, lines wait in memory: bounded, and lost with the process.
 */
export const createAuditFile = (path: string, log: Logger): EventSink => new AuditFile(path, log);
