import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { NotFoundError, stageContent } from 'stowage/storage';
import {
  FileResponse,
  MemoryAdapter,
  compileRules,
  createPipeline,
  createSourceGroup,
  defineAction,
  listen,
  loadConfig,
  toNodeHandler,
} from '#internals';
import type { Action, ActionContext } from '../../packages/stowage/dist/actions/action.js';
import type { AccessRule } from '../../packages/stowage/dist/config/access-rules.js';
import type { Settings } from '../../packages/stowage/dist/config/settings.js';
import type { Handle } from '../../packages/stowage/dist/http/message.js';
import type { PipelineDependencies } from '../../packages/stowage/dist/http/pipeline.js';
import type { ListeningServer } from '../../packages/stowage/dist/http/server.js';
import type { LogFields, Logger } from '../../packages/stowage/dist/basics/log/logger.js';
import type { SourceLease } from '../../packages/stowage/dist/sources/tenants.js';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import type { StorageFactories } from '../../packages/stowage/dist/storage/registry.js';
import { atEndOfFile } from '../end-of-file.ts';

let temporary = '';

/**
 * Sends all temporary files of the process, the staged content of these tests among them, to a folder in which what is
 * left behind can be counted. For test files with a process of their own: servers of others could not enter the folder.
 */
export const keepTemporaryFilesApart = (): void => {
  temporary = mkdtempSync(join(tmpdir(), 'stowage-edge-'));
  process.env['TMPDIR'] = temporary;
};

/** Names of all temporary files of the process. @see keepTemporaryFilesApart */
export const leftovers = async (): Promise<readonly string[]> => {
  const entries = await readdir(temporary, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
};

/** For the tests that follow. */
export const removeLeftovers = async (): Promise<void> => {
  for (const name of await readdir(temporary)) await rm(join(temporary, name), { recursive: true });
};

const withoutStage = (): StorageAdapter =>
  Object.create(new MemoryAdapter(), { stage: { value: undefined } }) as StorageAdapter;

const anything = z.record(z.string(), z.unknown());

const hashOf = async (stream: Readable): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk as Buffer);
  return hash.digest('hex');
};

const receive = async ({ uploads, requester }: ActionContext, parameters: Record<string, unknown>) => ({
  role: requester.role,
  parameters,
  uploads: await Promise.all(
    uploads.map(async ({ field, filename, staged }) => ({
      field,
      filename,
      size: staged.size,
      sha256: await hashOf(staged.open()),
    })),
  ),
});

/** A file of 100,000 bytes that can be asked for by range. */
export const fileBytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
export const fileVersion = { etag: '"v1"', modifiedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678) };

async function* names(count: number): AsyncGenerator<{ name: string }> {
  for (let index = 0; index < count; index += 1) yield { name: `file-${String(index)}.jpg` };
}

const base = {
  summary: 'For tests.',
  methods: ['GET', 'POST'],
  changes: false,
  takesFiles: false,
  parameters: anything,
  result: z.object({}),
} as const satisfies Partial<Action>;

const testActions = (): readonly Action[] => [
  defineAction({ ...base, name: 'echo', run: receive }),
  defineAction({ ...base, name: 'other', run: async () => ({ other: true }) }),
  defineAction({ ...base, name: 'change', changes: true, run: async () => ({}) }),
  defineAction({ ...base, name: 'postOnly', methods: ['POST'], changes: true, run: async () => ({}) }),
  defineAction({ ...base, name: 'keep', changes: true, takesFiles: true, run: receive }),
  defineAction({ ...base, name: 'leave', takesFiles: true, run: async () => ({}) }),
  defineAction({
    ...base,
    name: 'picky',
    parameters: z.object({ name: z.string(), size: z.coerce.number() }),
    run: async () => ({}),
  }),
  defineAction({ ...base, name: 'missing', run: async () => Promise.reject(new NotFoundError()) }),
  defineAction({
    ...base,
    name: 'crash',
    run: async () => Promise.reject(new Error('cannot open /srv/secret/place on db.internal')),
  }),
  defineAction({ ...base, name: 'many', run: async () => ({ files: names(50_000) }) }),
  defineAction({
    ...base,
    name: 'download',
    run: async () =>
      new FileResponse({
        filename: 'naïve "file".bin',
        contentType: 'application/octet-stream',
        stat: { size: fileBytes.length, ...fileVersion },
        open: async (range) =>
          Readable.from(range === undefined ? fileBytes : fileBytes.subarray(range.start, range.end + 1), {
            objectMode: false,
          }),
      }),
  }),
  defineAction({
    ...base,
    name: 'wait',
    run: ({ signal }) =>
      new Promise((resolve, reject) => {
        setTimeout(resolve, 300, {});
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  }),
];

/** One line of the log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

const recordingLogger = (lines: LogLine[]): Logger => {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

/** How a test changes the edge. */
export interface EdgeOptions extends Partial<
  Pick<PipelineDependencies, 'version' | 'authenticate' | 'isOriginAllowed' | 'resolveSources' | 'times'>
> {
  readonly settings?: Record<string, unknown>;
  readonly rules?: readonly AccessRule[];
  readonly sources?: Record<string, Record<string, unknown>>;
  readonly actions?: readonly Action[];
  /** The store of every source. */
  readonly storage?: StorageAdapter;
  /** How long a client may take nothing of its answer. */
  readonly stallMs?: number;
  /** What a host does to an answer before it hands the request on. */
  readonly beforeHandler?: (response: ServerResponse) => void;
}

export interface Edge {
  readonly handle: Handle;
  readonly settings: Settings;
  readonly log: readonly LogLine[];
  /** Sources that requests have been given and not given back. */
  readonly leases: () => number;
}

/** A core with actions for tests and memory stores. */
export const createEdge = (options: EdgeOptions = {}): Edge => {
  const { storage } = options;
  const factories: StorageFactories = new Map([['memory', { create: () => storage ?? withoutStage() }]]);
  const source = { title: 'Files', baseurl: 'http://files.test/', storageAdapter: 'memory' };
  const given = options.sources ?? { main: {} };
  const sources = Object.fromEntries(
    Object.entries(given).map(([name, changes]) => [name, { ...source, ...changes }]),
  );
  const config = loadConfig({ ...options.settings, sources }, factories, {});
  const log: LogLine[] = [];
  const logger = recordingLogger(log);
  const group = createSourceGroup(config.sources, { factories, log: logger });
  const rules = compileRules(options.rules ?? [], new Map());
  let leases = 0;
  const handle = createPipeline({
    settings: config.settings,
    actions: new Map((options.actions ?? testActions()).map((action) => [action.name, action])),
    // None of these actions has a use for services.
    services: {} as PipelineDependencies['services'],
    log: logger,
    version: options.version,
    resolveSources:
      options.resolveSources ??
      (async () => {
        const lease = (): SourceLease => {
          leases += 1;
          return { sources: group, extend: lease, release: () => void (leases -= 1) };
        };
        return lease();
      }),
    authenticate: options.authenticate ?? (() => 'guest'),
    accessFor: ({ role }) => rules.forRole(role),
    isOriginAllowed: options.isOriginAllowed,
    stageUpload: stageContent,
    clientOf: () => 'client',
    times: options.times,
  });
  return { handle, settings: config.settings, log, leases: () => leases };
};

/** An edge behind `node:http`. */
export interface RunningEdge extends Edge {
  readonly url: string;
  readonly port: number;
  readonly server: ListeningServer;
}

/** Starts an edge on a free port; it is stopped when the test file ends. */
export const startEdge = async (options: EdgeOptions = {}): Promise<RunningEdge> => {
  const edge = createEdge(options);
  const handler = toNodeHandler(edge.handle, { stallMs: options.stallMs });
  const server = await listen(
    (request, response, next) => {
      options.beforeHandler?.(response as ServerResponse);
      return handler(request, response, next);
    },
    { port: 0, host: '127.0.0.1' },
  );
  atEndOfFile(() => server.close(0));
  return { ...edge, server, port: server.port, url: `http://127.0.0.1:${String(server.port)}` };
};

/** An answer in the protocol's envelope. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly success: boolean;
  readonly code: number;
  readonly messages: readonly string[];
  // What an action says depends on the action.
  readonly data: Record<string, unknown>;
}

const jsonOf = (text: string): { success?: boolean; data?: Record<string, unknown> } =>
  text === '' ? {} : (JSON.parse(text) as { success?: boolean; data?: Record<string, unknown> });

/** Asks and reads the envelope. */
export const ask = async (edge: RunningEdge, path: string, init: RequestInit = {}): Promise<Answer> => {
  const response = await fetch(edge.url + path, init);
  const { success = false, data = {} } = jsonOf(await response.text());
  const { status, statusText, headers } = response;
  const messages = (data['messages'] ?? []) as readonly string[];
  return { status, statusText, headers, success, code: Number(data['code']), messages, data };
};

/** A POST of this type. */
export const post = (type: string, body: string | Uint8Array<ArrayBuffer>): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': type },
  body,
});

export const form = (body: string): RequestInit => post('application/x-www-form-urlencoded', body);
export const json = (body: unknown): RequestInit => post('application/json', JSON.stringify(body));
