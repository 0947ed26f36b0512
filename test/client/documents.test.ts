import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromium, keepDownloads, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg, png } from './pictures.ts';

const photos = async () => ({ 'harbour.jpg': await jpeg(500, 300), 'glass.png': await png() });
const text =
  '<h1>Report</h1><p>With <b>two</b> pictures.</p><p><img src="/file/photos/harbour.jpg"><img src="/file/photos/glass.png"></p>';

describe.skipIf(chromium === undefined)(`Documents with the real client${needsChromium}`, () => {
  const client = useClient({ photos });
  let downloads = '';
  beforeAll(async () => {
    downloads = await mkdtemp(path.join(tmpdir(), 'stowage-downloads-'));
  });
  afterAll(() => rm(downloads, { recursive: true, force: true }));

  const download = async (button: string, name: string): Promise<Buffer> => {
    const { editor } = client();
    await editor.write(text);
    await keepDownloads(editor.page, downloads);
    await editor.page.locator(`::-p-text(${button})`).click();
    await eventually(() => readdir(downloads)).toContain(name);
    return readFile(path.join(downloads, name));
  };

  test('come as a PDF with the pictures of the text', async () => {
    const file = (await download('Download as PDF', 'document.pdf')).toString('latin1');
    expect(file).toMatch(/^%PDF-/u);
    expect(file.match(/\/Subtype \/Image/gu)?.length).toBeGreaterThanOrEqual(2);
  });

  test('come as a DOCX with the pictures of the text', async () => {
    const file = (await download('Download as DOCX', 'document.docx')).toString('latin1');
    expect(file).toMatch(/^PK/u);
    expect(new Set(file.match(/word\/media\/[\w-]+\.(?:png|jpe?g)/gu)).size).toBe(2);
  });

  test('are refused with the words of the connector when the text is empty', async () => {
    const { editor } = client();
    await editor.write('');
    await editor.page.locator('::-p-text(Download as PDF)').click();
    await eventually(() => editor.messages()).toContainEqual(
      expect.stringMatching(/^error: .*must not be empty/u),
    );
    expect(
      await editor.page.$eval(
        '[data-action=generatePdf]',
        (button) => (button as HTMLButtonElement).disabled,
      ),
    ).toBe(false);
  });
});

describe.skipIf(chromium === undefined)(
  `Documents that are denied, with the real client${needsChromium}`,
  () => {
    const client = useClient({
      photos,
      config: { accessControl: [{ GENERATE_PDF: false, GENERATE_DOCX: false }] },
    });

    test.each(['Download as PDF', 'Download as DOCX'])('%s says so', async (button) => {
      const { editor } = client();
      await editor.page.locator(`::-p-text(${button})`).click();
      await eventually(() => editor.messages()).toContain('error: Access denied.');
    });
  },
);
