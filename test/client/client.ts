import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext, ElementHandle, Page } from 'puppeteer-core';
import type { ConfigInput, ConnectorHooks, Logger } from 'stowage';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { startDemo, type Demo } from '../../demo/start-demo.ts';
import { openChromium, type OpenedChromium, PATIENCE } from './chromium.ts';
import { EditorPage } from './editor-page.ts';
import { PickerPage } from './picker-page.ts';
import { writeFiles, type Files } from './pictures.ts';
import { useStockJodit } from './stock-page.ts';

/** What the service under the page holds and how it is set up. */
export interface ClientSetup {
  readonly photos?: () => Promise<Files>;
  readonly documents?: () => Promise<Files>;
  /** Settings that replace those of the demo; a function makes them when the service is started. */
  readonly config?: ConfigInput | (() => Promise<ConfigInput>);
  readonly hooks?: ConnectorHooks;
  /** Jodit alone, without `connectJodit`. */
  readonly stock?: true;
}

/**
 * The real client, on a fresh page for each test, against a service that is started once for the test file.
 */
export interface Client {
  readonly demo: Demo;
  /** Holds `photos` and `documents`. */
  readonly dataDir: string;
  /** A folder for files on the person's own disk. */
  readonly desktop: string;
  readonly editor: EditorPage;
  /** What `editor.browse` opens, where Jodit is connected. */
  readonly picker: PickerPage;
}

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const open = async (setup: ClientSetup) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stowage-client-'));
  const dataDir = path.join(folder, 'data');
  const desktop = path.join(folder, 'desktop');
  await writeFiles(path.join(dataDir, 'photos'), (await setup.photos?.()) ?? {});
  await writeFiles(path.join(dataDir, 'documents'), (await setup.documents?.()) ?? {});
  await writeFiles(desktop, {});
  const demo = await startDemo({
    connectorPort: 0,
    pagePort: 0,
    dataDir,
    config: typeof setup.config === 'function' ? await setup.config() : setup.config,
    hooks: setup.hooks,
    logger: silent,
  });
  return { folder, dataDir, desktop, demo };
};

const openPage = async (context: BrowserContext, url: string, isStock: boolean): Promise<EditorPage> => {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.setViewport({ width: 1280, height: 900 });
  if (isStock) await useStockJodit(page);
  await page.goto(url);
  await page.waitForSelector('.state.ready');
  return new EditorPage(page);
};

/** A picture of the screen in a folder of its own, to see what the failed test saw. */
const keepScreen = async (name: string, editor: EditorPage | undefined): Promise<void> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stowage-failed-'));
  const file = `${path.join(folder, name.replaceAll(/\W+/gu, '-'))}.png` as const;
  await editor?.page.screenshot({ path: file });
  console.error(`The screen at the end of "${name}": ${file}`);
};

/**
 * Prepares the client for the tests of the calling file. The function it returns gives the one of the running
 * test.
 */
export const useClient = (setup: ClientSetup): (() => Client) => {
  let service: Awaited<ReturnType<typeof open>> | undefined;
  let chromium: OpenedChromium | undefined;
  let editor: EditorPage | undefined;

  beforeAll(async () => {
    [service, chromium] = await Promise.all([open(setup), openChromium()]);
  });
  beforeEach(async () => {
    if (chromium === undefined || service === undefined) throw new Error('The browser did not start.');
    editor = await openPage(chromium.context, service.demo.pageUrl, setup.stock === true);
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await keepScreen(task.name, editor);
    // The next test begins as a new visitor, but with the editor's script in the cache.
    await editor?.page.evaluate(() => localStorage.clear());
    await editor?.page.close();
  });
  afterAll(async () => {
    await chromium?.close();
    await service?.demo.close();
    if (service !== undefined) await rm(service.folder, { recursive: true, force: true });
  });

  return () => {
    if (service === undefined || editor === undefined)
      throw new Error('The client is ready only inside a test.');
    return { ...service, editor, picker: new PickerPage(editor.page) };
  };
};

/** Asks again until the matcher is content, or for as long as a test waits for a page. */
export const eventually = <Value>(read: () => Value | Promise<Value>) =>
  expect.poll(read, { timeout: PATIENCE, interval: 30 });

/** What comes inside of a shadow root. Waiting for a selector, as locators do too, hears of no changes there. */
export const inShadow = (page: Page, selector: string): Promise<ElementHandle<HTMLElement>> =>
  new PickerPage(page).first(selector);
