import { BrokenImageError } from '../../errors/errors.ts';
import { cleanSvg, MAX_SVG_BYTES, type CleanedSvg } from '../svg/clean-svg.ts';
import { cleanInThread } from './clean-in-thread.ts';

export { MAX_SVG_BYTES } from '../svg/clean-svg.ts';

/** Most drawings are smaller. A style sheet is cleaned in one go. */
const MAX_BYTES_NOW = 256 * 1024;

/**
 * Cleans an SVG file, a large one in a thread.
 * @throws BrokenImageError when it is malformed, too large, or not SVG; the signal's reason
 */
export const cleanDrawing = async (file: Buffer, signal: AbortSignal): Promise<CleanedSvg> => {
  if (file.length <= MAX_BYTES_NOW || file.length > MAX_SVG_BYTES) return cleanSvg(file);
  const answer = await cleanInThread({ kind: 'drawing', file }, signal);
  if (answer.result !== 'cleaned') throw new BrokenImageError({ detail: 'not cleaned' });
  return { content: Buffer.from(answer.bytes.buffer), isReduced: answer.isReduced };
};
