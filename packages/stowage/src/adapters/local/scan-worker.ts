import { parentPort, type MessagePort } from 'node:worker_threads';
import { systemCode } from '../../basics/files/system-errors.ts';
import { listFolder } from './folder-scan.ts';
import type { TimeSlice } from './scanned-folder.ts';
import { readFiles } from './small-reads.ts';
import { removeTree } from './tree-removal.ts';
import { walkTree } from './tree-scan.ts';
import { tallyTree } from './tree-tally.ts';

/** Longest uninterrupted work in milliseconds: other jobs wait meanwhile. */
const LONGEST_MS = 10;

/** The jobs of the thread. Each yields its pages on request; an abandoned one ends and closes its files. */
const JOBS = { list: listFolder, walk: walkTree, tally: tallyTree, remove: removeTree, read: readFiles };

type Jobs = typeof JOBS;
export type JobKind = keyof Jobs;
export type JobRequest<Kind extends JobKind> = Parameters<Jobs[Kind]>[0];
/** A page of a job; the last one is its result. */
export type JobPage<Kind extends JobKind> =
  ReturnType<Jobs[Kind]> extends Generator<infer Page, infer Last, undefined> ? Page | Last : never;
export type JobResult<Kind extends JobKind> =
  ReturnType<Jobs[Kind]> extends Generator<unknown, infer Last, undefined> ? Last : never;

/** Messages to the thread. `end` ends all jobs and the thread. */
export type ToScanThread =
  | { readonly type: 'begin'; readonly id: number; readonly kind: JobKind; readonly request: unknown }
  | { readonly type: 'next' | 'close'; readonly id: number }
  | { readonly type: 'end' };

/** Messages from the thread. `code` is that of a system error. */
export type FromScanThread =
  | { readonly type: 'page'; readonly id: number; readonly page: unknown; readonly isLast: boolean }
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly code: string | undefined;
      readonly message: string;
    };

type Job = Generator<unknown, unknown, undefined>;

const buffersOf = (response: FromScanThread): ArrayBuffer[] => {
  if (response.type === 'failed' || typeof response.page !== 'object' || response.page === null) return [];
  return Object.values(response.page).flatMap((column: unknown) =>
    ArrayBuffer.isView(column) ? [column.buffer as ArrayBuffer] : [],
  );
};

/**
 * The scanning thread of the local adapter. Uses synchronous calls, which cost a fraction of asynchronous
 * ones and block no request in this thread. Jobs take turns, page by page.
 */
const serve = (port: MessagePort): void => {
  const jobs = new Map<number, Job>();
  let end = 0;
  const slice: TimeSlice = {
    get isOver() {
      return performance.now() >= end;
    },
  };
  const close = (id: number): void => {
    const job = jobs.get(id);
    jobs.delete(id);
    job?.return(undefined);
  };
  const nextPage = (id: number): FromScanThread | undefined => {
    end = performance.now() + LONGEST_MS;
    try {
      const next = jobs.get(id)?.next();
      if (next?.done === true) jobs.delete(id);
      return next && { type: 'page', id, page: next.value, isLast: next.done === true };
    } catch (error) {
      jobs.delete(id);
      const message = error instanceof Error ? error.message : String(error);
      return { type: 'failed', id, code: systemCode(error), message };
    }
  };
  const take = (message: ToScanThread): void => {
    if (message.type === 'end') {
      for (const id of [...jobs.keys()]) close(id);
      // Ends the thread; Deno's port has no `close`.
      port.off('message', take);
      return port.unref();
    }
    const { id } = message;
    if (message.type === 'close') return close(id);
    if (message.type === 'begin')
      jobs.set(id, (JOBS[message.kind] as (...args: unknown[]) => Job)(message.request, slice));
    const response = nextPage(id);
    if (response !== undefined) port.postMessage(response, buffersOf(response));
  };
  port.on('message', take);
};

if (parentPort !== null) serve(parentPort);
