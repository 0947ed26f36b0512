import { ConnectorError, type FileUploadData } from '../client/index.ts';
import { removeParts } from '../transfer/parts.ts';
import type { Begun } from '../transfer/request.ts';
import { uploadFile } from '../transfer/upload.ts';
import { button, h, iconButton } from './dom.ts';
import { isKept } from './names.ts';
import type { Notices } from './notices.ts';
import { type Folder, isAbort, type Service } from './service.ts';
import { fill, humanSize, type Texts } from './texts.ts';
import { type Dropped, type Stored, summaryOf, type Wanted, withFolders } from './upload-folders.ts';

/** Concurrent uploads. */
const AT_ONCE = 3;

/** A row of the list, with progress and buttons. */
interface Row {
  readonly element: HTMLElement;
  readonly bar: HTMLProgressElement;
  readonly line: HTMLElement;
  readonly buttons: HTMLElement;
}

interface Job extends Wanted, Row {
  /** Called with the response when the file is stored; without one when it is cancelled. */
  settled: (data?: FileUploadData) => void;
  /** Called in its place when the file is stored after a failure. */
  readonly late: ((data: FileUploadData) => void) | undefined;
  /** Where the connector has the parts that were sent. */
  readonly begun: Begun;
  ending: AbortController;
  /** Time of the first attempt. */
  since?: number;
}

/** Running uploads, with buttons for each. */
export class Uploads {
  readonly element: HTMLElement;
  readonly #list: HTMLElement;
  readonly #service: Service;
  readonly #notices: Notices;
  readonly #texts: Texts;
  readonly #stored: (stored: readonly Stored[]) => void;
  readonly #waiting: Job[] = [];
  readonly #running = new Set<Job>();
  /** These wait for another attempt. */
  readonly #broken = new Set<Job>();
  readonly #ending = new AbortController();
  #done: Stored[] = [];
  /** The number of calls that wait for folders. */
  #preparing = 0;

  constructor(
    service: Service,
    notices: Notices,
    texts: Texts,
    /** Called with the stored files and created folders when all uploads have ended. */
    stored: (stored: readonly Stored[]) => void,
  ) {
    this.#service = service;
    this.#notices = notices;
    this.#texts = texts;
    this.#stored = stored;
    this.#list = h('ul', {});
    this.element = h(
      'section',
      { class: 'uploads', part: 'uploads', hidden: true, 'aria-label': texts.uploads },
      this.#list,
    );
  }

  /** Whether files are not stored yet. Failed ones were reported. */
  get isRunning(): boolean {
    return this.#preparing + this.#running.size + this.#waiting.length > 0;
  }

  /** Cancels all uploads, and starts no more. */
  close(): void {
    this.#ending.abort();
    for (const { ending } of this.#running) ending.abort();
    for (const job of [...this.#waiting.splice(0), ...this.#broken]) this.#giveUp(job);
  }

  /** Creates missing folders, and stores the files. */
  async add(wanted: readonly Dropped[], base: Folder): Promise<void> {
    this.#preparing += 1;
    const placed = await withFolders(
      wanted,
      base,
      (above, name) => this.#makeFolder(above, name),
      (name, error) => this.#notices.warn(this.#failureOf(name, error)),
    ).catch((error: unknown) => {
      if (!isAbort(error)) this.#notices.warn(this.#service.messageOf(error, this.#texts));
    });
    this.#preparing -= 1;
    await this.store(placed ?? []);
  }

  /**
   * Stores files in existing folders. When all have ended, resolves to the responses of the successful ones.
   * With `late` a failed file has ended, and that gets the response if it is stored by another attempt.
   */
  async store(
    wanted: readonly Wanted[],
    late?: (data: FileUploadData) => void,
  ): Promise<readonly FileUploadData[]> {
    const outcomes: Promise<FileUploadData | undefined>[] = [];
    for (const one of wanted) {
      const { limits } = await this.#service.rightsIn(one);
      if (this.#ending.signal.aborted) break;
      const obstacle = this.#service.obstacleTo(one.file, limits, this.#texts);
      if (obstacle !== undefined) this.#notices.warn(obstacle);
      else outcomes.push(new Promise((settled) => this.#waiting.push(this.#job(one, settled, late))));
    }
    this.#next();
    return (await Promise.all(outcomes)).filter((data) => data !== undefined);
  }

  /** Shows a task of unknown duration. The returned function removes it. */
  wait(label: string, cancel: () => void): () => void {
    const row = this.#row(label, 1);
    row.bar.removeAttribute('value');
    row.line.textContent = label;
    row.buttons.append(iconButton('close', this.#texts.cancel, cancel));
    return () => this.#ended(row);
  }

  /**
   * Creates a folder that may exist already. Returns its name, in which the connector may have replaced
   * characters.
   */
  async #makeFolder(above: Folder, name: string): Promise<string> {
    const { client } = this.#service;
    const { signal } = this.#ending;
    /** Returns the name of a folder that existed. */
    const make = (): Promise<string | undefined> =>
      client.folderCreate({ ...above, name }, { signal }).then(
        () => undefined,
        (error: unknown) => {
          if (!(error instanceof ConnectorError && error.error === 'ALREADY_EXISTS')) throw error;
          return String(error.details['name'] ?? name);
        },
      );
    const known = await make();
    if (known !== undefined) return known;
    // The response does not contain the name; an error for an existing folder does.
    const stored = (isKept(name) ? undefined : await make()) ?? name;
    this.#done.push({ ...above, name: stored, isFolder: true });
    return stored;
  }

  #failureOf(name: string, error: unknown): string {
    return `${fill(this.#texts.sending.failed, { name })} ${this.#service.messageOf(error, this.#texts)}`;
  }

  #row(label: string, max: number): Row {
    const bar = h('progress', { max, value: 0, 'aria-label': label });
    const line = h('span', { class: 'line', dir: 'auto' });
    const buttons = h('span', { class: 'buttons' });
    const element = h('li', {}, line, bar, buttons);
    this.#list.append(element);
    this.element.hidden = false;
    return { element, bar, line, buttons };
  }

  #job(wanted: Wanted, settled: Job['settled'], late: Job['late']): Job {
    const row = this.#row(wanted.file.name, Math.max(1, wanted.file.size));
    const state = { ending: new AbortController(), begun: {} };
    const job: Job = { ...wanted, ...row, ...state, settled, late };
    this.#offerCancel(job);
    this.#progress(job, 0);
    return job;
  }

  #offerCancel(job: Job): void {
    const label = fill(this.#texts.sending.cancel, { name: job.file.name });
    this.#offer(job, [iconButton('close', label, () => this.#cancel(job))]);
  }

  /** Moves the focus from a removed button to its replacement. */
  #offer({ buttons }: Job, offered: readonly HTMLButtonElement[]): void {
    const hadFocus = buttons.matches(':focus-within');
    buttons.replaceChildren(...offered);
    if (hadFocus) offered[0]?.focus();
  }

  #giveUp(job: Job): void {
    removeParts(this.#service.reach, job.begun);
    this.#broken.delete(job);
    this.#ended(job);
    job.settled();
  }

  #cancel(job: Job): void {
    job.ending.abort();
    const at = this.#waiting.indexOf(job);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    this.#giveUp(job);
    this.#notices.tell(fill(this.#texts.sending.cancelled, { name: job.file.name }));
  }

  #progress(job: Job, sent: number): void {
    job.bar.value = sent;
    const { name, size } = job.file;
    const values = { name, sent: humanSize(this.#texts, sent), total: humanSize(this.#texts, size) };
    job.line.textContent = fill(
      sent >= size && sent > 0 ? this.#texts.sending.storing : this.#texts.sending.progress,
      values,
    );
  }

  #next(): void {
    while (this.#running.size < AT_ONCE) {
      const job = this.#waiting.shift();
      if (job === undefined) break;
      this.#running.add(job);
      void this.#run(job);
    }
    if (this.isRunning || this.#done.length === 0) return;
    const stored = this.#done;
    this.#done = [];
    this.#notices.tell(summaryOf(stored, this.#texts));
    this.#service.forgetRights();
    this.#stored(stored);
  }

  async #run(job: Job): Promise<void> {
    try {
      const { limits } = await this.#service.rightsIn(job);
      const { since } = job;
      job.since ??= Date.now();
      const data = await uploadFile(this.#service.reach, {
        ...job,
        limits,
        since,
        signal: job.ending.signal,
        onProgress: (sent) => this.#progress(job, sent),
      });
      // Replacements are reported elsewhere, with their undo.
      if (job.replaces === undefined)
        this.#done.push(...data.items.map(({ source, name }) => ({ source, path: job.path, name })));
      this.#ended(job);
      job.settled(data);
    } catch (error) {
      if (isAbort(error)) this.#cancelled(job);
      else this.#failed(job, error);
    }
    this.#running.delete(job);
    this.#next();
  }

  /** After the last byte the connector may have stored the file before it noticed the abort. */
  #cancelled(job: Job): void {
    const { name, size } = job.file;
    const wasSent = job.bar.value >= size;
    this.#notices.tell(fill(wasSent ? this.#texts.sending.stopped : this.#texts.sending.cancelled, { name }));
    this.#ended(job);
    job.settled();
    if (wasSent) this.#stored([{ source: job.source, path: job.path, name }]);
  }

  #failed(job: Job, error: unknown): void {
    job.line.textContent = this.#failureOf(job.file.name, error);
    job.element.classList.add('failure');
    this.#broken.add(job);
    this.#notices.speak(job.line.textContent);
    const { late } = job;
    if (late !== undefined) {
      job.settled();
      job.settled = (data) => {
        if (data !== undefined) late(data);
      };
    }
    const retry = (): void => {
      this.#broken.delete(job);
      job.ending = new AbortController();
      job.element.classList.remove('failure');
      this.#offerCancel(job);
      this.#progress(job, 0);
      this.#waiting.push(job);
      this.#next();
    };
    this.#offer(job, [
      button(this.#texts.tryAgain, retry),
      iconButton('close', this.#texts.close, () => this.#giveUp(job)),
    ]);
  }

  #ended({ element }: Row): void {
    const hadFocus = element.matches(':focus-within');
    element.remove();
    if (hadFocus) this.#notices.takeFocus();
    this.element.hidden = this.#list.children.length === 0;
  }
}
