import { parentPort, type MessagePort } from 'node:worker_threads';
import { systemCode } from '../../adapter-support/system-errors.ts';
import { ScanJob } from './scan-job.ts';
import type { ScanAnswer, ScanRequest } from './scan-messages.ts';

const buffersOf = (answer: ScanAnswer): ArrayBuffer[] =>
  answer.type === 'failed'
    ? []
    : [answer.kinds, answer.sizes, answer.times].flatMap((column) =>
        column === undefined ? [] : [column.buffer as ArrayBuffer],
      );

/**
 * The scanning thread of the local adapter: reads big folders with synchronous calls, which cost a fraction of asynchronous ones and block
 * nobody here. Takes the pages of many listings in turns, as they are asked for.
 */
const serve = (port: MessagePort): void => {
  const jobs = new Map<number, ScanJob>();
  const finish = (id: number): void => {
    const job = jobs.get(id);
    jobs.delete(id);
    job?.close();
  };
  const answer = (request: Exclude<ScanRequest, { type: 'end' }>): ScanAnswer | undefined => {
    if (request.type === 'close') {
      finish(request.id);
      return undefined;
    }
    try {
      if (request.type === 'open') jobs.set(request.id, new ScanJob(request));
      const page = jobs.get(request.id)?.nextPage();
      if (page?.isLast === true) finish(request.id);
      return page;
    } catch (error) {
      finish(request.id);
      const message = error instanceof Error ? error.message : String(error);
      return { type: 'failed', id: request.id, code: systemCode(error), message };
    }
  };
  port.on('message', (request: ScanRequest) => {
    if (request.type === 'end') {
      for (const id of [...jobs.keys()]) finish(id);
      port.close();
      return;
    }
    const result = answer(request);
    if (result !== undefined) port.postMessage(result, buffersOf(result));
  });
};

if (parentPort !== null) serve(parentPort);
