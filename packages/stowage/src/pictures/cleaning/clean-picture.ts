import { cleanInThread } from './clean-in-thread.ts';
import { cleanNow } from './clean-now.ts';
import type { PictureJob } from './messages.ts';

/** Smaller files are cleaned in some milliseconds, whatever they are made of; a thread takes longer to start. */
const MAX_BYTES_NOW = 1024 * 1024;

/**
 * A picture without what is to go: the same buffer when there is nothing to take out. Undefined when only
 * drawing it anew does that.
 * @throws BrokenImageError when reading it takes too much
 */
export const cleanPicture = async (job: PictureJob): Promise<Buffer | undefined> => {
  const { file, format, metadata = {}, what } = job;
  if (file.length <= MAX_BYTES_NOW) return cleanNow(job);
  const { exif, xmp, iptc } = metadata;
  const picture = { file, format, metadata: { exif, xmp, iptc }, what };
  const answer = await cleanInThread({ kind: 'picture', picture });
  if (answer.result === 'impossible') return undefined;
  return answer.result === 'unchanged' ? file : Buffer.from(answer.bytes.buffer);
};
