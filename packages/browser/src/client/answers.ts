// Generated from the actions by `npm run generate`. Do not edit.

/** What every successful answer holds. */
export interface Success {
  readonly code: 220;
}

/** What `permissions` answers. */
export interface PermissionsData extends Success {
  readonly permissions: {
    readonly allowFiles: boolean;
    readonly allowFileMove: boolean;
    readonly allowFileCopy: boolean;
    readonly allowFileUpload: boolean;
    readonly allowFileUploadRemote: boolean;
    readonly allowFileRemove: boolean;
    readonly allowFileRename: boolean;
    readonly allowFileDownload: boolean;
    readonly allowFolders: boolean;
    readonly allowFolderMove: boolean;
    readonly allowFolderCopy: boolean;
    readonly allowFolderCreate: boolean;
    readonly allowFolderRemove: boolean;
    readonly allowFolderRename: boolean;
    readonly allowFolderTree: boolean;
    readonly allowImageResize: boolean;
    readonly allowImageCrop: boolean;
    readonly allowImageSave: boolean;
    readonly allowImageLoad: boolean;
    readonly allowGeneratePdf: boolean;
    readonly allowGenerateDocx: boolean;
    readonly allowImageRotate: boolean;
    readonly allowTrashList: boolean;
    readonly allowTrashRestore: boolean;
    readonly allowTrashRemove: boolean;
    readonly allowTrashEmpty: boolean;
    readonly allowImageVariant: boolean;
    readonly allowFilesSearch: boolean;
  };
  /** Where the source has a quota; what is used is absent until it has been counted. */
  readonly quota?:
    | {
        readonly bytes?: number | undefined;
        readonly usedBytes?: number | undefined;
        readonly files?: number | undefined;
        readonly usedFiles?: number | undefined;
      }
    | undefined;
  /** Absent without sources. */
  readonly limits?:
    | {
        /** Of one file, in bytes. */
        readonly maxUploadFileSize: number;
        /** Of files that may be uploaded: lower case, without dot. */
        readonly extensions: readonly string[];
        /** Of one form. */
        readonly maxFiles: number;
        /** Until the quota is used up, once that has been counted. */
        readonly bytesLeft?: number | undefined;
        readonly filesLeft?: number | undefined;
        /** Uploads in parts (tus 1.0) are taken at `tus`. */
        readonly tus?: true | undefined;
      }
    | undefined;
}

/** What `files` answers. */
export interface FilesData extends Success {
  readonly sources: readonly {
    readonly name: string;
    readonly title: string;
    readonly baseurl: string;
    /** The listed folder relative to the root, without a leading slash; `/` at the root. */
    readonly path: string;
    /** With `mods[details]`: visible entries of the whole folder. */
    readonly total?: number | undefined;
    readonly files: readonly (
      | {
          readonly file: string;
          readonly name: string;
          readonly type: 'folder';
          readonly thumb?: string | undefined;
          /** True: `thumb` is a link by itself. */
          readonly thumbIsAbsolute?: boolean | undefined;
          /** With `mods[details]`: ISO 8601, in UTC. */
          readonly modified?: string | undefined;
        }
      | {
          /** Name relative to baseurl + path. */
          readonly file: string;
          readonly name: string;
          readonly type: 'image' | 'file';
          readonly isImage: boolean;
          /** For people: `117.74MB`. Absent when the store does not report it. */
          readonly size?: string | undefined;
          /** In the datetimeFormat. Absent when the store does not report it. */
          readonly changed?: string | undefined;
          /** Relative to baseurl + path. Absent when the quota is used up. */
          readonly thumb?: string | undefined;
          /** With `mods[variants]`, by preset: as `thumb`. Absent what is not made yet. */
          readonly variants?: Readonly<Record<string, string>> | undefined;
          /** With `mods[variants]` and `mods[details]`: the pixels of each of the variants. */
          readonly variantSizes?:
            | Readonly<
                Record<
                  string,
                  {
                    readonly width: number;
                    readonly height: number;
                  }
                >
              >
            | undefined;
          /** True: `file` is a link by itself. */
          readonly fileIsAbsolute?: boolean | undefined;
          /** True: `thumb` is a link by itself. */
          readonly thumbIsAbsolute?: boolean | undefined;
          /** With `mods[details]`. */
          readonly bytes?: number | undefined;
          /** With `mods[details]`: ISO 8601, in UTC. */
          readonly modified?: string | undefined;
          /** With `mods[details]`: by the extension. */
          readonly mime?: string | undefined;
          /** With `mods[details]`. */
          readonly etag?: string | undefined;
          /** With `mods[details]`: of an image as it is meant to be seen. */
          readonly width?: number | undefined;
          /** With `mods[details]`: of an image as it is meant to be seen. */
          readonly height?: number | undefined;
        }
    )[];
  }[];
  /** One sentence for each source that cannot be reached now and is left out. */
  readonly messages?: readonly string[] | undefined;
}

/** What `fileUpload` answers. */
export interface FileUploadData extends Success {
  readonly baseurl: string;
  /** One per file. */
  readonly messages: readonly string[];
  /** Paths relative to the root of the source. */
  readonly files: readonly string[];
  /** Parallel to `files`. */
  readonly isImages: readonly boolean[];
  /** Parallel to `files`. */
  readonly items: readonly {
    /** Name of the source. */
    readonly source: string;
    /** The folder, as listings write it: `/` at the root. */
    readonly path: string;
    /** The name that the file has got. */
    readonly name: string;
    /** The link of the file; signed in sources that ask for it, for whom may download it. */
    readonly url: string;
    readonly bytes: number;
    /** Media type by the extension. */
    readonly mime: string;
    /** Of a picture as it is seen, where its header says so. */
    readonly width?: number | undefined;
    readonly height?: number | undefined;
  }[];
}

/** What `fileUploadRemote` answers. */
export interface FileUploadRemoteData extends Success {
  readonly baseurl: string;
  /** Path relative to the root of the source. */
  readonly newfilename: string;
  readonly isImage: boolean;
  /** The one file. */
  readonly items: readonly {
    /** Name of the source. */
    readonly source: string;
    /** The folder, as listings write it: `/` at the root. */
    readonly path: string;
    /** The name that the file has got. */
    readonly name: string;
    /** The link of the file; signed in sources that ask for it, for whom may download it. */
    readonly url: string;
    readonly bytes: number;
    /** Media type by the extension. */
    readonly mime: string;
    /** Of a picture as it is seen, where its header says so. */
    readonly width?: number | undefined;
    readonly height?: number | undefined;
  }[];
}

/** What `fileRemove` answers. */
export interface FileRemoveData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `fileMove` answers. */
export interface FileMoveData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `fileCopy` answers. */
export interface FileCopyData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `getLocalFileByUrl` answers. */
export interface GetLocalFileByUrlData extends Success {
  /** The folder, with a leading slash. */
  readonly path: string;
  readonly name: string;
  readonly source: string;
}

/** What `folders` answers. */
export interface FoldersData extends Success {
  readonly sources: readonly {
    readonly name: string;
    readonly title: string;
    readonly baseurl: string;
    /** The listed folder relative to the root, without a leading slash; `/` at the root. */
    readonly path: string;
    /** `.` first at the root, `..` first below it, unless `dots` is false. */
    readonly folders: readonly string[];
  }[];
  /** One sentence for each source that cannot be reached now and is left out. */
  readonly messages?: readonly string[] | undefined;
}

/** What `folderCreate` answers. */
export interface FolderCreateData extends Success {
  readonly messages: readonly string[];
}

/** What `folderRemove` answers. */
export interface FolderRemoveData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `folderMove` answers. */
export interface FolderMoveData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `folderCopy` answers. */
export interface FolderCopyData extends Success {
  /** Where several items were asked for: what has become of each, in their order. */
  readonly results?:
    | readonly {
        /** The item as the request names it. */
        readonly name: string;
        readonly success: boolean;
        /** 220, or the status of the error. */
        readonly code: number;
        /** A key of the error table. */
        readonly error?: string | undefined;
        readonly message?: string | undefined;
      }[]
    | undefined;
}

/** What `imageResize` answers. */
export interface ImageResizeData extends Success {
  /** Public URL of the written file. */
  readonly newPath: string;
}

/** What `imageCrop` answers. */
export interface ImageCropData extends Success {
  /** Public URL of the written file. */
  readonly newPath: string;
}

/** What `imageSave` answers. */
export interface ImageSaveData extends Success {
  /** Public URL of the stored file. */
  readonly newPath: string;
  /** The name under which it was really stored. */
  readonly name: string;
}

/** What `imageLoad` answers. */
export interface ImageLoadData extends Success {
  /** Data URL in base64. */
  readonly content: string;
  readonly name: string;
}

/** What `generatePdf` answers when it is given `name`. */
export interface GeneratePdfData extends Success {
  readonly baseurl: string;
  /** One per file. */
  readonly messages: readonly string[];
  /** Paths relative to the root of the source. */
  readonly files: readonly string[];
  /** Parallel to `files`. */
  readonly isImages: readonly boolean[];
  /** Parallel to `files`. */
  readonly items: readonly {
    /** Name of the source. */
    readonly source: string;
    /** The folder, as listings write it: `/` at the root. */
    readonly path: string;
    /** The name that the file has got. */
    readonly name: string;
    /** The link of the file; signed in sources that ask for it, for whom may download it. */
    readonly url: string;
    readonly bytes: number;
    /** Media type by the extension. */
    readonly mime: string;
    /** Of a picture as it is seen, where its header says so. */
    readonly width?: number | undefined;
    readonly height?: number | undefined;
  }[];
}

/** What `generateDocx` answers when it is given `name`. */
export interface GenerateDocxData extends Success {
  readonly baseurl: string;
  /** One per file. */
  readonly messages: readonly string[];
  /** Paths relative to the root of the source. */
  readonly files: readonly string[];
  /** Parallel to `files`. */
  readonly isImages: readonly boolean[];
  /** Parallel to `files`. */
  readonly items: readonly {
    /** Name of the source. */
    readonly source: string;
    /** The folder, as listings write it: `/` at the root. */
    readonly path: string;
    /** The name that the file has got. */
    readonly name: string;
    /** The link of the file; signed in sources that ask for it, for whom may download it. */
    readonly url: string;
    readonly bytes: number;
    /** Media type by the extension. */
    readonly mime: string;
    /** Of a picture as it is seen, where its header says so. */
    readonly width?: number | undefined;
    readonly height?: number | undefined;
  }[];
}

/** What `imageRotate` answers. */
export interface ImageRotateData extends Success {
  /** Public URL of the written file. */
  readonly newPath: string;
}

/** What `trashList` answers. */
export interface TrashListData extends Success {
  readonly items: readonly {
    readonly id: string;
    /** Name of the source. */
    readonly source: string;
    /** The folder that it was in, as listings write it: `/` at the root. */
    readonly path: string;
    readonly name: string;
    readonly kind: 'file' | 'folder';
    /** Of a folder with all it holds. */
    readonly bytes: number;
    /** ISO 8601, in UTC. */
    readonly removedAt: string;
    /** Of whoever removed it. */
    readonly role: string;
    /** Who removed it, as far as the service was told. */
    readonly subject?: string | undefined;
    /** True: it was not removed but replaced by newer content. */
    readonly replaced: boolean;
  }[];
  /** One sentence for each source that cannot be reached now and is left out. */
  readonly messages?: readonly string[] | undefined;
}

/** What `trashRestore` answers. */
export interface TrashRestoreData extends Success {
  /** The folder, as listings write it: `/` at the root. */
  readonly path: string;
  /** The name that it has got. */
  readonly name: string;
}

/** What `trashEmpty` answers. */
export interface TrashEmptyData extends Success {
  /** How many items were removed. */
  readonly removed: number;
}

/** What `filesSearch` answers. */
export interface FilesSearchData extends Success {
  readonly items: readonly (
    | {
        readonly file: string;
        readonly name: string;
        readonly type: 'folder';
        readonly thumb?: string | undefined;
        /** True: `thumb` is a link by itself. */
        readonly thumbIsAbsolute?: boolean | undefined;
        /** With `mods[details]`: ISO 8601, in UTC. */
        readonly modified?: string | undefined;
        /** Name of the source. */
        readonly source: string;
        /** The folder, as listings write it: `/` at the root. */
        readonly path: string;
        /** The link of a file; signed in sources that ask for it. */
        readonly url?: string | undefined;
      }
    | {
        /** Name relative to baseurl + path. */
        readonly file: string;
        readonly name: string;
        readonly type: 'image' | 'file';
        readonly isImage: boolean;
        /** For people: `117.74MB`. Absent when the store does not report it. */
        readonly size?: string | undefined;
        /** In the datetimeFormat. Absent when the store does not report it. */
        readonly changed?: string | undefined;
        /** Relative to baseurl + path. Absent when the quota is used up. */
        readonly thumb?: string | undefined;
        /** With `mods[variants]`, by preset: as `thumb`. Absent what is not made yet. */
        readonly variants?: Readonly<Record<string, string>> | undefined;
        /** With `mods[variants]` and `mods[details]`: the pixels of each of the variants. */
        readonly variantSizes?:
          | Readonly<
              Record<
                string,
                {
                  readonly width: number;
                  readonly height: number;
                }
              >
            >
          | undefined;
        /** True: `file` is a link by itself. */
        readonly fileIsAbsolute?: boolean | undefined;
        /** True: `thumb` is a link by itself. */
        readonly thumbIsAbsolute?: boolean | undefined;
        /** With `mods[details]`. */
        readonly bytes?: number | undefined;
        /** With `mods[details]`: ISO 8601, in UTC. */
        readonly modified?: string | undefined;
        /** With `mods[details]`: by the extension. */
        readonly mime?: string | undefined;
        /** With `mods[details]`. */
        readonly etag?: string | undefined;
        /** With `mods[details]`: of an image as it is meant to be seen. */
        readonly width?: number | undefined;
        /** With `mods[details]`: of an image as it is meant to be seen. */
        readonly height?: number | undefined;
        /** Name of the source. */
        readonly source: string;
        /** The folder, as listings write it: `/` at the root. */
        readonly path: string;
        /** The link of a file; signed in sources that ask for it. */
        readonly url?: string | undefined;
      }
  )[];
  /** There is more to be searched: send it with the same parameters. An answer may be empty. */
  readonly cursor?: string | undefined;
  /** One sentence for each source that cannot be reached now and is left out. */
  readonly messages?: readonly string[] | undefined;
}
