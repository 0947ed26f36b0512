import { Document, Footer, Header, Packer, type ISectionOptions } from 'docx';
import { sidesOf } from '../css/style.ts';
import type { Flow, ParagraphBlock } from '../flow/model.ts';
import { documentNumbering } from './numbering.ts';
import { paragraph } from './paragraph.ts';
import { documentStyles } from './styles.ts';
import { writeBlocks } from './table.ts';
import { twips } from './units.ts';

/**
 * Distance between the paper edge and the header or footer, in points; margins are enlarged to make room for
 * them.
 */
const EDGE = 20;

const pageOptions = ({
  page: { width, height, margin },
}: Flow): NonNullable<ISectionOptions['properties']> => {
  // The library swaps width and height in landscape.
  const [short, long] = width > height ? [height, width] : [width, height];
  return {
    page: {
      size: {
        width: twips(short),
        height: twips(long),
        ...(width > height ? { orientation: 'landscape' as const } : {}),
      },
      margin: {
        ...sidesOf((side) => twips(margin[side])),
        header: twips(EDGE),
        footer: twips(EDGE),
      },
    },
  };
};

/** Writes a document as the bytes of a DOCX file. */
export const writeDocx = async (flow: Flow): Promise<Uint8Array> => {
  const { blocks, lists, title, lang, header, footer } = flow;
  const line = (block: ParagraphBlock) => ({ children: [paragraph(block)] });
  const document = new Document({
    creator: 'Stowage',
    ...(title === undefined ? {} : { title }),
    styles: documentStyles(lang),
    numbering: documentNumbering(lists),
    compatabilityModeVersion: 15,
    sections: [
      {
        properties: pageOptions(flow),
        ...(header === undefined ? {} : { headers: { default: new Header(line(header)) } }),
        ...(footer === undefined ? {} : { footers: { default: new Footer(line(footer)) } }),
        children: writeBlocks(blocks),
      },
    ],
  });
  return Packer.toBuffer(document);
};
