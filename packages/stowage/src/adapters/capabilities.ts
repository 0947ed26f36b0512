import type { CapabilityName, StorageCapabilities } from '../storage/capabilities.ts';
import type { BuiltInName } from '../storage/registry.ts';

/** `asked`: depends on the server; a store reports it as soon as it is known. */
type Declared = Readonly<Record<CapabilityName, boolean | 'asked'>>;

/** Every capability that a store within this process can have. */
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
/** Object stores: objects are independent, and a folder consists of many. */
const objects: Declared = { ...memory, stableReads: false, atomicFolderMove: false, keepsTimes: false };
/** Stores with server-side folders, whose capabilities differ between servers. */
const paths: Declared = {
  ...memory,
  ...{ atomicCreate: 'asked', ifMatch: false, caseSensitive: 'asked', versions: false },
  ...{ stableReads: false, atomicReplace: 'asked', serverCopy: 'asked' },
};

/** The capabilities of each adapter, as in docs/stores.md; they select its cases of the conformance suite. */
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

/** Capabilities of a new store, before its first request to the server. */
export const capabilitiesOf = (adapter: BuiltInName): StorageCapabilities => {
  const known = Object.entries(declaredCapabilities[adapter]).filter(([, value]) => value !== 'asked');
  return { atomicCreate: false, ifMatch: false, caseSensitive: false, ...Object.fromEntries(known) };
};
