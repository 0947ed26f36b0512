import { Document, Packer } from 'docx';
import type { Flow } from '../flow/model.ts';
import { documentNumbering } from './numbering.ts';
import { documentStyles } from './styles.ts';
import { writeBlocks } from './table.ts';
import { PAGE, twips } from './units.ts';

/** Writes a document as the bytes of a DOCX file. */
export const writeDocx = async ({ blocks, lists, title, lang }: Flow): Promise<Uint8Array> => {
  const margin = twips(PAGE.margin);
  const document = new Document({
    creator: 'Stowage',
    ...(title === undefined ? {} : { title }),
    styles: documentStyles(lang),
    numbering: documentNumbering(lists),
    compatabilityModeVersion: 15,
    sections: [
      {
        properties: {
          page: {
            size: { width: twips(PAGE.width), height: twips(PAGE.height) },
            margin: { top: margin, right: margin, bottom: margin, left: margin },
          },
        },
        children: writeBlocks(blocks),
      },
    ],
  });
  return Packer.toBuffer(document);
};
