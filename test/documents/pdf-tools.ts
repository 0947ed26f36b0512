import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const inPath = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)));

/** Why a test cannot run here; empty when it can. */
export const noBrowser = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].some(
  inPath,
)
  ? ''
  : 'no Chromium is installed';
export const noPoppler = inPath('pdftotext') && inPath('pdfinfo') ? '' : 'poppler-utils is not installed';
export const noOffice = inPath('soffice') ? '' : 'libreoffice-writer-nogui is not installed';

const withFile = async <Result>(
  bytes: Uint8Array,
  name: string,
  use: (path: string, folder: string) => Promise<Result>,
): Promise<Result> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-test-'));
  try {
    await writeFile(join(folder, name), bytes);
    return await use(join(folder, name), folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Width and height of every page in millimetres, by what the file says of itself. */
export const pageSizes = (pdf: Uint8Array): (readonly [width: number, height: number])[] =>
  [
    ...Buffer.from(pdf)
      .toString('latin1')
      .matchAll(/\/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/gu),
  ].map(([, width, height]) => [(Number(width) / 72) * 25.4, (Number(height) / 72) * 25.4] as const);

/** The words of a PDF file in their order. */
export const textOf = (pdf: Uint8Array): Promise<string> =>
  withFile(pdf, 'a.pdf', async (path) => {
    const { stdout } = await run('pdftotext', ['-enc', 'UTF-8', path, '-'], { maxBuffer: 1 << 26 });
    // Marks of direction are not text.
    return stdout
      .replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
      .replaceAll(/\s+/gu, ' ')
      .trim();
  });

/** A word of a PDF file and where it stands, in points from the left and upper edge of its page. */
export interface Word {
  readonly page: number;
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', apos: "'" };

/** All words with their places. */
export const wordsOf = (pdf: Uint8Array): Promise<readonly Word[]> =>
  withFile(pdf, 'a.pdf', async (path) => {
    const { stdout } = await run('pdftotext', ['-bbox', path, '-'], { maxBuffer: 1 << 26 });
    return stdout.split('<page ').flatMap((content, page) =>
      [...content.matchAll(/<word xMin="(.*)" yMin="(.*)" xMax="(.*)" yMax="(.*)">(.*)<\/word>/gu)].map(
        ([, left, top, right, bottom, text = '']) => ({
          page,
          text: text.replaceAll(/&(\w+);/gu, (entity, name: string) => ENTITIES[name] ?? entity),
          left: Number(left),
          top: Number(top),
          right: Number(right),
          bottom: Number(bottom),
        }),
      ),
    );
  });

/** A page of a PDF file as pixels. */
export const drawPage = (pdf: Uint8Array, page = 1, dpi = 50): Promise<Buffer> =>
  withFile(pdf, 'a.pdf', async (path, folder) => {
    await run('pdftoppm', [
      '-r',
      String(dpi),
      '-f',
      String(page),
      '-l',
      String(page),
      '-png',
      '-singlefile',
      path,
      join(folder, 'page'),
    ]);
    return readFile(join(folder, 'page.png'));
  });

/** A DOCX file as LibreOffice shows it. */
export const officePdf = (docx: Uint8Array): Promise<Uint8Array> =>
  withFile(docx, 'a.docx', async (path, folder) => {
    await run('soffice', [
      `-env:UserInstallation=file://${join(folder, 'profile')}`,
      '--headless',
      '--convert-to',
      'pdf',
      '--outdir',
      folder,
      path,
    ]);
    return readFile(join(folder, 'a.pdf'));
  });

/** Where the links of a PDF file lead to, sorted, each once. */
export const targetsOf = (pdf: Uint8Array): readonly string[] =>
  [
    ...new Set(
      [
        ...Buffer.from(pdf)
          .toString('latin1')
          .matchAll(/\/URI\s*\(([^)]*)\)/gu),
      ].map(([, url]) => url ?? ''),
    ),
  ].toSorted();

/** The bookmarks of a PDF file. */
export const outlineOf = (pdf: Uint8Array): readonly string[] =>
  [
    ...Buffer.from(pdf)
      .toString('latin1')
      .matchAll(/\/Title\s*\(([^)]*)\)\s*\/(?:Parent|Dest)/gu),
  ].map(([, title]) => title ?? '');

/** How many pictures a PDF file holds. */
export const pictureCount = (pdf: Uint8Array): number =>
  Buffer.from(pdf)
    .toString('latin1')
    .match(/\/Subtype\s*\/Image\b/gu)?.length ?? 0;
