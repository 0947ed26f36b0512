/**
 * Promises of a store beyond the contract. A missing capability is emulated or rejected, never simulated
 * unsafely; undefined when it depends on the server and is unknown. The conformance suite tests the promised
 * ones and selects its cases by them.
 */
export interface StorageCapabilities {
  /** The store decides `createOnly` atomically: of racing writers exactly one wins. */
  readonly atomicCreate: boolean;
  /** The store decides `ifMatch` on writes atomically. Where false, `ifMatch` throws UnsupportedError. */
  readonly ifMatch: boolean;
  /** `a` and `A` are different names. Where they are the same, path rules apply to every spelling. */
  readonly caseSensitive: boolean;
  /** `stat` and `read` report an `etag` for every file, a different one for different content. */
  readonly versions?: boolean | undefined;
  /** Folders can be empty and exist independently of files. Default: true. */
  readonly emptyFolders?: boolean | undefined;
  /** A file that is being read keeps its content when it is replaced or removed concurrently. */
  readonly stableReads?: boolean | undefined;
  /** While a file is replaced, every lookup finds either the old or the new one. */
  readonly atomicReplace?: boolean | undefined;
  /** `moveFolder` is atomic, wherever the backend can rename the folder. */
  readonly atomicFolderMove?: boolean | undefined;
  /** `moveFile` keeps the modification time. */
  readonly keepsTimes?: boolean | undefined;
  /** The server copies, without passing bytes through this process. The suite cannot check that. */
  readonly serverCopy?: boolean | undefined;
  /** The store has `walk`. */
  readonly walk?: boolean | undefined;
  /** `temporaryUrl` returns a URL for every file. */
  readonly temporaryUrls?: boolean | undefined;
}

export type CapabilityName = keyof StorageCapabilities;

/** Short user-facing text for each capability. */
export const capabilityTexts: Readonly<Record<CapabilityName, string>> = {
  atomicCreate: 'only one of several writers gets a new name',
  ifMatch: 'writes only over the expected version',
  caseSensitive: 'letter case in names',
  versions: 'a version of each file (ETag)',
  emptyFolders: 'empty folders',
  stableReads: 'downloads that survive a replacement',
  atomicReplace: 'replacing in one step',
  atomicFolderMove: 'moving a folder in one step',
  keepsTimes: 'moves that keep the time of a file',
  serverCopy: 'copies inside the store',
  walk: 'searching without a listing of each folder',
  temporaryUrls: 'URLs that expire ("delivery": "redirect")',
};

export const capabilityNames = Object.keys(capabilityTexts) as readonly CapabilityName[];
