import { BrokenImageError } from '../../errors/errors.ts';

const DECLARED = /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/u;

const encodingOf = (bytes: Buffer): string => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  return DECLARED.exec(bytes.toString('latin1', 0, 256))?.[1] ?? 'utf-8';
};

/**
 * The text of an XML file by its byte order mark or declared encoding, else UTF-8.
 * @throws BrokenImageError for an unknown encoding and for bytes that are none of it
 */
export const decodeXmlText = (bytes: Buffer): string => {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BrokenImageError({ message: 'The SVG file could not be read.', cause: error });
  }
};
