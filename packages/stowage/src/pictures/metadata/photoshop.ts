import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { blankLocationInXmp } from './xmp-location.ts';

const SIGNATURES: ReadonlySet<string> = new Set(['8BIM', 'PHUT', 'DCSR', 'AgHg', 'MeSa']);
const IPTC_RESOURCE = 0x0404;
const XMP_RESOURCE = 0x0424;
/** Keywords that give a position in numbers, as programs for maps write them: `geo:lat=51.5`. */
const KEYWORD = /geo:l(?:at|ong?)=[-+.\d]*/giu;

/** Takes positions out of the keywords of IPTC data, in place. */
export const blankLocationInIptc = (data: Buffer): void => {
  for (const { index, 0: keyword } of data.toString('latin1').matchAll(KEYWORD)) {
    data.fill(' ', index, index + keyword.length);
  }
};

/**
 * Takes positions out of the resources that image editors keep in a picture, in place: out of XMP, keywords,
 * and by `blankExif` out of EXIF data, that of previews too; where that answers false, and what cannot be
 * understood, goes.
 *
 * @see https://www.adobe.com/devnet-apps/photoshop/fileformatashtml/ Image Resources Section
 */
export const blankLocationInResources = (
  resources: Buffer,
  blankExif: (data: Buffer) => boolean,
  budget: ParseBudget,
): void => {
  let at = 0;
  while (at + 12 <= resources.length && SIGNATURES.has(resources.toString('latin1', at, at + 4))) {
    budget.spendItems();
    const id = resources.readUInt16BE(at + 4);
    const nameBytes = (resources[at + 6] ?? 0) + 1;
    const start = at + 6 + nameBytes + (nameBytes % 2) + 4;
    if (start > resources.length) break;
    const size = resources.readUInt32BE(start - 4);
    const content = resources.subarray(start, Math.min(start + size, resources.length));
    if (id === XMP_RESOURCE) blankLocationInXmp(content);
    else if (id === IPTC_RESOURCE) blankLocationInIptc(content);
    else if (!blankExif(content)) content.fill(0);
    at = start + size + (size % 2);
  }
  resources.fill(0, Math.min(at, resources.length));
};
