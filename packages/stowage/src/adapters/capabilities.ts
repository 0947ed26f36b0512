import type { CapabilityName, StorageCapabilities } from '../storage/capabilities.ts';
import type { BuiltInName } from '../storage/registry.ts';

/** `asked`: some servers keep it; a store says so as soon as it knows. */
type Declared = Readonly<Record<CapabilityName, boolean | 'asked'>>;

/** All that a process can promise of files of its own. */
const memory: Declared = {
  atomicCreate: true,
  ifMatch: true,
  caseSensitive: true,
  versions: true,
  emptyFolders: true,
  stableReads: true,
  atomicReplace: true,
  atomicFolderMove: true,
  keepsTimes: true,
  serverCopy: true,
  walk: false,
  temporaryUrls: false,
};
/** Objects under keys: each is its own, and a folder is many. */
const objects: Declared = { ...memory, stableReads: false, atomicFolderMove: false, keepsTimes: false };
/** Folders of a server, of which no two are the same. */
const paths: Declared = {
  ...memory,
  ...{ atomicCreate: 'asked', ifMatch: false, caseSensitive: 'asked', versions: false },
  ...{ stableReads: false, atomicReplace: 'asked', serverCopy: 'asked' },
};

/**
 * What the stores of each adapter promise: the columns of the table in docs/stores.md, and what their cases
 * in the conformance suite are picked by.
 */
export const declaredCapabilities: Readonly<Record<BuiltInName, Declared>> = {
  local: { ...memory, caseSensitive: 'asked', walk: true },
  memory,
  s3: { ...objects, atomicCreate: 'asked', ifMatch: 'asked', walk: true, temporaryUrls: true },
  azure: { ...objects, temporaryUrls: 'asked' },
  gcs: { ...objects, walk: true, temporaryUrls: 'asked' },
  webdav: { ...paths, versions: 'asked', atomicFolderMove: 'asked', keepsTimes: 'asked', serverCopy: true },
  sftp: paths,
  ftp: { ...paths, atomicCreate: false, serverCopy: false },
};

/** What a store of this adapter says of itself before it has asked its server anything. */
export const capabilitiesOf = (adapter: BuiltInName): StorageCapabilities => {
  const known = Object.entries(declaredCapabilities[adapter]).filter(([, value]) => value !== 'asked');
  return { atomicCreate: false, ifMatch: false, caseSensitive: false, ...Object.fromEntries(known) };
};
