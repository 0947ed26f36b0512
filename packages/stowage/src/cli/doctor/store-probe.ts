import { randomUUID } from 'node:crypto';
import { stat, statfs } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inTimeLimit } from '../../basics/concurrency/time-limit.ts';
import type { SourceConfig } from '../../config/types.ts';
import { NotFoundError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { StorageAdapter } from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { adviceFor, type Right } from './advice.ts';
import { Findings, reasonOf } from './finding.ts';

/** A file that is there for a moment. */
export interface Probe {
  readonly name: string;
  readonly content: string;
}

/** A probe of a type that the source shows. */
export const createProbe = ({ settings: { extensions } }: SourceConfig): Probe => {
  const extension = ['txt', 'csv', 'json', 'png', 'jpg'].find((one) => extensions.includes(one));
  const id = randomUUID();
  return { name: `stowage-doctor-${id}.${extension ?? extensions[0] ?? 'txt'}`, content: `Stowage ${id}\n` };
};

const FAILURES: Readonly<Record<Right, string>> = {
  open: 'cannot be opened',
  write: 'files cannot be written',
  list: 'files cannot be listed',
  read: 'files cannot be read',
  remove: 'files cannot be removed',
};

const isListed = async (storage: StorageAdapter, name: string, signal: AbortSignal): Promise<boolean> => {
  for await (const page of storage.list(SourcePath.root, { signal, detail: 'names' }))
    if (page.some((entry) => entry.name === name)) return true;
  return false;
};

/** How long the removal may take, whatever has become of the rest. */
const REMOVAL_MS = 10_000;

const removeProbe = async (storage: StorageAdapter, path: SourcePath): Promise<void> => {
  try {
    await inTimeLimit(REMOVAL_MS, undefined, (signal) => storage.removeFile(path, { signal }));
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
};

const checkRoom = async ({ root = '.', settings }: SourceConfig, findings: Findings): Promise<void> => {
  const { bavail, bsize, blocks } = await statfs(root);
  const megabytes = `${String(Math.floor((bavail * bsize) / 1024 ** 2))} MB`;
  const fix = `Make room on the disk of ${root}.`;
  if (bavail * bsize < settings.maxUploadFileSize)
    findings.broken('room', `the disk has ${megabytes} left, less than one upload`, fix);
  else if (bavail < blocks / 20) findings.risk('room', `the disk is nearly full: ${megabytes} left`, fix);
  else findings.ok('room', `${megabytes} of the disk are free`);
};

/** Whether the folder of a local source is there, which opening it would make. */
export const findFolder = async (
  { key, storageAdapter, root = '' }: SourceConfig,
  findings: Findings,
): Promise<boolean> => {
  if (storageAdapter !== 'local') return true;
  const stats = await stat(root).catch(() => undefined);
  const fix = `mkdir -p ${root} (or correct sources.${key}.root)`;
  if (stats === undefined) findings.broken('store.open', `there is no folder ${root}`, fix);
  else if (!stats.isDirectory())
    findings.broken('store.open', `${root} is not a folder`, `Correct sources.${key}.root.`);
  return stats?.isDirectory() === true;
};

/** The words of stores for a bucket that is not there: every other step would fail too. */
const MISSING = /NoSuchBucket|ContainerNotFound/u;

/**
 * Writes a file, lists it, reads it, lets others read it, and removes it. What it wrote is removed on every
 * way out; where the store refuses that, a finding names it.
 * @param whileThere what else is to be tried while the probe is there
 */
export const probeStore = async (
  config: SourceConfig,
  source: Source,
  whileThere: (probe: Probe, findings: Findings) => Promise<void>,
  signal: AbortSignal,
): Promise<Findings> => {
  const findings = new Findings(config.name);
  if (config.storageAdapter === 'local') await checkRoom(config, findings);
  /** Undefined where the step fails, which is a finding then. */
  const attempt = async <T>(right: Right, step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      const [fix, reason] = [adviceFor(config, right, error), reasonOf(error)];
      if (!MISSING.test(reason) || findings.all.every((one) => one.fix !== fix))
        findings.broken(`store.${right}`, `${FAILURES[right]}: ${reason}`, fix);
      return undefined;
    }
  };
  const storage = await attempt('open', () => source.storage());
  if (storage === undefined) return findings;

  const probe = createProbe(config);
  const path = SourcePath.root.child(probe.name);
  const done: (boolean | undefined)[] = [];
  try {
    const written = await attempt('write', async () => {
      const content = Readable.from([Buffer.from(probe.content)], { objectMode: false });
      await storage.write(path, content, { createOnly: true, size: probe.content.length, signal });
      return true;
    });
    const listed = await attempt('list', async () => {
      const isThere = await isListed(storage, probe.name, signal);
      if (!isThere && written) throw new Error('the listing lacks a file that was just written');
      return true;
    });
    done.push(written, listed);
    if (!written) return findings;
    const read = async (): Promise<boolean> => {
      const { stream } = await storage.read(path, { signal });
      if ((await buffer(stream)).toString() !== probe.content) throw new Error('other bytes came back');
      return true;
    };
    done.push(await attempt('read', read));
    await whileThere(probe, findings);
  } finally {
    // A write that has failed may have arrived all the same.
    const removed = await attempt('remove', () => removeProbe(storage, path).then(() => true));
    if (!removed && done[0]) findings.leftBehind(probe.name);
    if (removed && done.length === 3 && done.every(Boolean))
      findings.ok('store', 'files can be written, listed, read and removed');
  }
  return findings;
};
