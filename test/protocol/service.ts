import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createApp, type ConfigInput, type ConnectorHooks, type Logger } from 'stowage';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** An answer of the service, its envelope opened. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly success: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  readonly messages: readonly string[];
}

export type Fields = Readonly<Record<string, string>>;

/** A file of a form: its field, its name and its content. */
export type FormFile = readonly [field: string, name: string, content: string | Uint8Array<ArrayBuffer>];

const ARRIVALS = /(?:^|\/)\.stowage-tmp\/(?:[^/]+\/)?$/u;

const pathsBelow = async (root: string, folder: string): Promise<string[]> => {
  // The service removes its own empty folders whenever it likes.
  const gone = (error: unknown): [] => {
    if (folder.includes('.stowage-tmp/')) return [];
    throw error;
  };
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(gone);
  const paths = await Promise.all(
    entries.map(async (entry) => {
      const path = folder + entry.name;
      return entry.isDirectory() ? [`${path}/`, ...(await pathsBelow(root, `${path}/`))] : [path];
    }),
  );
  return paths.flat();
};

/** A directory of files on disk. */
export class Folder {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** Writes files; a path with a slash at its end is a folder. */
  async put(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      const target = join(this.root, path);
      await mkdir(path.endsWith('/') ? target : dirname(target), { recursive: true });
      if (!path.endsWith('/')) await writeFile(target, content);
    }
  }

  /**
   * Everything below, sorted, folders with a slash at their end. Of the folders in which a running service
   * keeps files that are still arriving only their files are told: there should be none.
   */
  async paths(): Promise<string[]> {
    return (await pathsBelow(this.root, '')).filter((path) => !ARRIVALS.test(path)).sort();
  }

  bytes(path: string): Promise<Buffer> {
    return readFile(join(this.root, path));
  }

  text(path: string): Promise<string> {
    return readFile(join(this.root, path), 'utf8');
  }
}

/** A started service with local sources in fresh directories. */
export interface Service {
  readonly url: string;
  /** Holds all roots and what lies beside them. */
  readonly outside: Folder;
  source(name: string): Folder;
  /** Sends an action as a urlencoded POST, as the editor does. */
  call(action: string, fields?: Fields): Promise<Answer>;
  /** Sends an action with its parameters in the query. */
  get(action: string, fields?: Fields): Promise<Response>;
  /** Sends files as a multipart form, fields first. */
  upload(files: readonly FormFile[], fields?: Fields): Promise<Answer>;
}

const nothing = (): void => undefined;
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const open = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const body = JSON.parse(text) as {
    success: boolean;
    data: Record<string, unknown> & { messages?: string[] };
  };
  return {
    status: response.status,
    headers: response.headers,
    success: body.success,
    data: body.data,
    messages: body.data.messages ?? [],
  };
};

export const formOf = (files: readonly FormFile[], fields: Fields = {}): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [field, name, content] of files) form.append(field, new Blob([content]), name);
  return form;
};

/** What a test may choose of its service: settings, per-source settings, hooks. */
export interface ServiceOptions extends Omit<ConfigInput, 'sources'> {
  /**
   * Sources with their overrides. Default: one, `files`. Each gets `baseurl` `https://files.example/<name>/`.
   */
  readonly sources?: Readonly<Record<string, object>>;
}

const openService = async (
  options: ServiceOptions = {},
  hooks: ConnectorHooks = {},
  logger: Logger = silent,
): Promise<{ readonly service: Service; readonly close: () => Promise<void> }> => {
  const base = await mkdtemp(join(tmpdir(), 'stowage-protocol-'));
  const { sources = { files: {} }, ...settings } = options;
  const folders = new Map<string, Folder>();
  const configured: Record<string, never> = {};
  for (const [name, overrides] of Object.entries(sources)) {
    const folder = new Folder(join(base, name));
    await mkdir(folder.root);
    folders.set(name, folder);
    const source = {
      title: name,
      baseurl: `https://files.example/${name}/`,
      root: folder.root,
      ...overrides,
    };
    Object.assign(configured, { [name]: source });
  }
  const app = createApp({ ...settings, sources: configured }, hooks, { logger });
  const { port } = await app.listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${String(port)}`;
  const close = async (): Promise<void> => {
    await app.close();
    await rm(base, { recursive: true, force: true });
  };
  const post = async (action: string, body: BodyInit): Promise<Answer> =>
    open(await fetch(`${url}/${action}`, { method: 'POST', body }));
  const service: Service = {
    url,
    outside: new Folder(base),
    source: (name) => {
      const folder = folders.get(name);
      if (folder === undefined) throw new Error(`no source ${name}`);
      return folder;
    },
    call: (action, fields = {}) => post(action, new URLSearchParams(fields)),
    get: (action, fields = {}) => fetch(`${url}/${action}?${new URLSearchParams(fields).toString()}`),
    upload: (files, fields = {}) => post('fileUpload', formOf(files, fields)),
  };
  return { service, close };
};

/** Starts a service that ends with the test. */
export const startService = async (...parts: Parameters<typeof openService>): Promise<Service> => {
  const { service, close } = await openService(...parts);
  onTestFinished(close);
  return service;
};

/** A service that the tests of a file, or of the calling block, share. */
export const shareService = (...parts: Parameters<typeof openService>): (() => Service) => {
  let opened: Awaited<ReturnType<typeof openService>> | undefined;
  beforeAll(async () => {
    opened = await openService(...parts);
  });
  afterAll(() => opened?.close());
  return () => {
    if (opened === undefined) throw new Error('The service is ready only inside a test.');
    return opened.service;
  };
};
