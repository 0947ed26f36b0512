import { afterAll, onTestFinished } from 'vitest';
import { createDocuments, createRemoteFetcher, createSilentLogger, readBrowser } from '#internals';
import type { DocumentsParts } from '../../packages/stowage/dist/documents/create-documents.js';
import type { DocumentJob, DocumentMaker } from '../../packages/stowage/dist/documents/documents.js';
import type { RemoteFetcher } from '../../packages/stowage/dist/basics/network/remote.js';

const log = createSilentLogger();

/** The door outward as it is, or with loopback on the other side of it. */
export const door = (allowPrivate = false): RemoteFetcher => {
  const fetcher = createRemoteFetcher({ log });
  return allowPrivate
    ? { fetch: (url, options) => fetcher.fetch(url, { ...options, allowPrivate: true }) }
    : fetcher;
};

/** Makes documents until they are closed. */
export const openDocuments = (parts: Partial<DocumentsParts> = {}): DocumentMaker =>
  createDocuments({ remote: door(), log, browser: readBrowser(), ...parts });

/** Makes documents until the test is over. */
export const startDocuments = (parts: Partial<DocumentsParts> = {}): DocumentMaker => {
  const documents = openDocuments(parts);
  onTestFinished(() => documents.close());
  return documents;
};

/** Makes documents for all tests of a file: the start of a browser takes longer than most of them do. */
export const shareDocuments = (parts: Partial<DocumentsParts> = {}): (() => DocumentMaker) => {
  let documents: DocumentMaker | undefined;
  afterAll(() => documents?.close());
  return () => (documents ??= openDocuments(parts));
};

/** A job with generous bounds. */
export const jobOf = (html: string, changes: Partial<DocumentJob> = {}): DocumentJob => ({
  html,
  resources: { enabled: true, maxBytes: 1_000_000, timeoutMs: 5000 },
  signal: new AbortController().signal,
  ...changes,
});
