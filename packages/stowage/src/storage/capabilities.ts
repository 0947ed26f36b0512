/**
 * What a store promises beyond the contract. What is false here is emulated or refused, never pretended;
 * undefined: as the server does it, which is not known. The conformance suite tests what is true, and picks
 * its cases by it.
 */
export interface StorageCapabilities {
  /** `createOnly` is decided by the store itself: of many racing writers exactly one wins. */
  readonly atomicCreate: boolean;
  /** `ifMatch` on writes is decided by the store itself. Where false, `ifMatch` throws UnsupportedError. */
  readonly ifMatch: boolean;
  /**
   * `a` and `A` are different names. Where they are one, access rules about paths hold for every spelling.
   */
  readonly caseSensitive: boolean;
  /** `stat` and `read` report an `etag` of every file, another one for another content. */
  readonly versions?: boolean | undefined;
  /** Folders can be empty and exist by themselves. Default: true. */
  readonly emptyFolders?: boolean | undefined;
  /** A file that is being read keeps its content when it is replaced or removed meanwhile. */
  readonly stableReads?: boolean | undefined;
  /** While a file is replaced, each look finds the old one or the new one. */
  readonly atomicReplace?: boolean | undefined;
  /** `moveFolder` moves all in one step, wherever the backend could rename the folder. */
  readonly atomicFolderMove?: boolean | undefined;
  /** `moveFile` keeps the modification time. */
  readonly keepsTimes?: boolean | undefined;
  /** The bytes of a copy do not pass through this process. The suite cannot see that. */
  readonly serverCopy?: boolean | undefined;
  /** The store has `walk`. */
  readonly walk?: boolean | undefined;
  /** `temporaryUrl` gives a URL for every file. */
  readonly temporaryUrls?: boolean | undefined;
}

export type CapabilityName = keyof StorageCapabilities;

/** Each capability in a few words for people. */
export const capabilityTexts: Readonly<Record<CapabilityName, string>> = {
  atomicCreate: 'one winner among writers of a new name',
  ifMatch: 'writes bound to the version that they replace',
  caseSensitive: 'letter case in names',
  versions: 'a version of each file (ETag)',
  emptyFolders: 'folders that hold nothing',
  stableReads: 'downloads that outlive a replacement',
  atomicReplace: 'replacing without a moment in between',
  atomicFolderMove: 'moving a folder in one step',
  keepsTimes: 'moves that keep the time of a file',
  serverCopy: 'copies inside the store',
  walk: 'searching without a listing of each folder',
  temporaryUrls: 'URLs that expire ("delivery": "redirect")',
};

export const capabilityNames = Object.keys(capabilityTexts) as readonly CapabilityName[];
