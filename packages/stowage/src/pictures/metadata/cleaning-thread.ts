import { parentPort, workerData } from 'node:worker_threads';
import { BrokenImageError } from '../../errors/errors.ts';
import { cleanSvg } from '../svg/clean-svg.ts';
import { type CleaningOutcome, type CleaningJob, cleanNow } from './clean.ts';

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Copies the bytes into their own memory, which can be transferred. */
const cleaned = (bytes: Buffer, isReduced: boolean): CleaningOutcome => ({
  result: 'cleaned',
  bytes: new Uint8Array(bytes),
  isReduced,
});

const clean = async (job: CleaningJob): Promise<CleaningOutcome> => {
  if (job.kind === 'drawing') {
    const { content, isReduced } = await cleanSvg(bufferOf(job.file));
    return cleaned(content, isReduced);
  }
  const { metadata = {}, ...picture } = job.picture;
  const file = bufferOf(picture.file);
  const [exif, xmp, iptc] = [metadata.exif, metadata.xmp, metadata.iptc].map(
    (data) => data && bufferOf(data),
  );
  const result = cleanNow({ ...picture, file, metadata: { exif, xmp, iptc } });
  if (result === undefined) return { result: 'impossible' };
  return result === file ? { result: 'unchanged' } : cleaned(result, true);
};

const outcome = await clean(workerData as CleaningJob).catch((error: unknown): CleaningOutcome => {
  if (error instanceof BrokenImageError)
    return { result: 'broken', messages: error.messages, detail: error.detail ?? '' };
  return { result: 'broken', messages: [], detail: error instanceof Error ? error.message : '' };
});
parentPort?.postMessage(outcome, 'bytes' in outcome ? [outcome.bytes.buffer as ArrayBuffer] : []);
