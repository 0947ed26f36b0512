/** A PDF file of these objects; the first is its catalogue. `trailer` is added to the last dictionary. */
export const pdfOf = (objects: readonly string[], trailer = ''): Buffer => {
  let text = '%PDF-1.4\n';
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(text.length);
    text += `${String(index + 1)} 0 obj\n${object}\nendobj\n`;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = String(objects.length + 1);
  return Buffer.from(
    `${text}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\n` +
      `startxref\n${String(text.length)}\n%%EOF\n`,
    'latin1',
  );
};

const streamOf = (content: string, more = ''): string =>
  `<< /Length ${String(content.length)} ${more} >>\nstream\n${content}\nendstream`;

const RED = '1 0 0 rg 0 0 100000 100000 re f';
const BLUE = '0 0 1 rg 0 0 100000 100000 re f';
const PAGES = '<< /Type /Pages /Kids [3 0 R] /Count 1 >>';
const page = (more = '', box = '0 0 612 792'): string =>
  `<< /Type /Page /Parent 2 0 R /MediaBox [${box}] /Contents 4 0 R ${more} >>`;

/** One red page. */
export const redPage = (box = '0 0 612 792'): Buffer =>
  pdfOf(['<< /Type /Catalog /Pages 2 0 R >>', PAGES, page('', box), streamOf(RED)]);

/** Pages of which the first is red, all others are blue. */
export const manyPages = (count: number): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${String(count)} /Kids [${Array.from({ length: count }, (_, index) => `${String(index === 0 ? 3 : index + 5)} 0 R`).join(' ')}] >>`,
    page(),
    streamOf(RED),
    streamOf(BLUE),
    ...Array.from(
      { length: count - 1 },
      () => '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R >>',
    ),
  ]);

/** A red page below so many levels of the tree of pages. */
export const deepTree = (depth: number): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    PAGES.replace('3 0 R', '5 0 R'),
    page(),
    streamOf(RED),
    ...Array.from(
      { length: depth },
      (_, index) => `<< /Type /Pages /Count 1 /Kids [${String(index === depth - 1 ? 3 : index + 6)} 0 R] >>`,
    ),
  ]);

/** A red page that would start a program when it is shown. */
export const launching = (program: string): Buffer =>
  pdfOf([
    `<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /Launch /F (${program}) >> >>`,
    PAGES,
    page(`/AA << /O << /S /Launch /F (${program}) >> >>`),
    streamOf(RED),
  ]);

/** A red page whose further content lies in another file. */
export const outsideContent = (file: string): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    PAGES,
    page().replace('4 0 R', '[4 0 R 5 0 R]'),
    streamOf(RED),
    streamOf('', `/F << /Type /Filespec /F (${file}) >>`),
  ]);

/** A page tree that contains itself. */
export const endlessTree = (): Buffer =>
  pdfOf(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 1 >>']);

/** A page that needs a password. */
export const encrypted = (): Buffer =>
  pdfOf(
    ['<< /Type /Catalog /Pages 2 0 R >>', PAGES, page(), streamOf(RED)],
    `/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>] ` +
      `/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`,
  );

/** A page that takes minutes to draw. */
export const slowPage = (): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    PAGES,
    page(),
    streamOf('0 0 612 792 re f '.repeat(1_500_000)),
  ]);
