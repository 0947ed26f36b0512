import type { Sample } from './pictures.ts';

const text = (lines: readonly string[]): Buffer => Buffer.from(`${lines.join('\n')}\n`);

/** A PDF of one page with a heading and lines of text in a font that every reader brings along. */
const onePagePdf = (heading: string, lines: readonly string[]): Buffer => {
  const escape = (line: string): string => line.replaceAll(/[\\()]/gu, '\\$&');
  const body = lines.map((line) => `0 -20 Td (${escape(line)}) Tj`).join('\n');
  const content = `BT /F1 24 Tf 72 740 Td (${escape(heading)}) Tj /F1 12 Tf 0 -20 Td\n${body}\nET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${String(content.length)} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${String(index + 1)} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const count = String(objects.length + 1);
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${rows}`;
  return Buffer.from(
    `${file}${table}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${String(file.length)}\n%%EOF\n`,
    'latin1',
  );
};

/** The sample documents: what is no picture gets an icon of its extension. */
export const documents: readonly Sample[] = [
  {
    path: 'reports/visitors.csv',
    make: async () =>
      text([
        'month,visitors,pictures',
        'January,1204,88',
        'February,1377,91',
        'March,1820,140',
        'April,2011,133',
      ]),
  },
  {
    path: 'reports/summary.pdf',
    make: async () =>
      onePagePdf('Summary of the year', ['More visitors than ever, and more pictures.', 'See visitors.csv.']),
  },
  {
    path: 'notes.md',
    make: async () =>
      text([
        '# Notes',
        '',
        '- Drop a file anywhere into the file browser.',
        '- Drag a file onto a folder to move it.',
      ]),
  },
  {
    path: 'settings.json',
    make: async () => text([JSON.stringify({ theme: 'light', language: 'en' }, undefined, 2)]),
  },
  {
    path: 'handbook.pdf',
    make: async () =>
      onePagePdf('Handbook', [
        'This file was made at the first start of the demo.',
        'Rename it, move it, remove it.',
      ]),
  },
  {
    path: 'welcome.txt',
    make: async () => text(['Welcome.', 'This is a text file of the second source, "documents".']),
  },
];
