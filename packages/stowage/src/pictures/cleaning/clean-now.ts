import { withoutLocation, withoutMetadata } from '../metadata/clean.ts';
import { pictureBudget } from '../picture-budget.ts';
import type { PictureJob } from './messages.ts';

/**
 * Cleans a picture in one go; the same bytes when there is nothing to clean, undefined when only drawing it
 * anew does it.
 * @throws BrokenImageError when reading it takes too much
 */
export const cleanNow = ({ file, format, metadata = {}, what }: PictureJob): Buffer | undefined => {
  const clean = what === 'location' ? withoutLocation : withoutMetadata;
  return clean(file, format, metadata, pictureBudget(file));
};
