// Generated from the actions by `npm run generate`. Do not edit.

/** What every successful answer holds. */
export interface Success {
  readonly code: 220;
}

/** Where an action works. */
export interface Place {
  /** Name of a source. When absent, listings cover every source, and other actions use the first. */
  readonly source?: string | undefined;
  /** A folder inside the source; the root when absent. */
  readonly path?: string | undefined;
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
  };
}

/** Parameters of `files`. */
export interface FilesParameters extends Place {
  readonly mods?:
    | {
        /** Lists folders too. */
        readonly withFolders?: boolean | undefined;
        /** Leaves out files that are no images. */
        readonly onlyImages?: boolean | undefined;
        /** How many items come before the page. */
        readonly offset?: number | undefined;
        /** The most items of a page; the setting countInChunk when absent. */
        readonly limit?: number | undefined;
        /** The setting defaultSortBy when absent. */
        readonly sortBy?:
          'name-asc' | 'name-desc' | 'changed-asc' | 'changed-desc' | 'size-asc' | 'size-desc' | undefined;
        /** Folders among the files, above or below them. */
        readonly foldersPosition?: 'default' | 'top' | 'bottom' | undefined;
        /** Keeps names that contain it, whatever their case. */
        readonly filterWord?: string | undefined;
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
    readonly files: readonly (
      | {
          readonly file: string;
          readonly name: string;
          readonly type: 'folder';
          readonly thumb?: string | undefined;
        }
      | {
          /** Name relative to baseurl + path. */
          readonly file: string;
          readonly name: string;
          readonly type: 'image' | 'file';
          readonly isImage: boolean;
          /** For people: `117.74MB`. Absent when the store does not tell it. */
          readonly size?: string | undefined;
          /** In the datetimeFormat. Absent when the store does not tell it. */
          readonly changed?: string | undefined;
          /** Relative to baseurl + path. Absent when the quota is used up. */
          readonly thumb?: string | undefined;
        }
    )[];
  }[];
}

/** Parameters of `fileUpload`. */
export interface FileUploadParameters extends Place {
  /** The files. A `File` brings its name; give one to a `Blob` by `new File([blob], name)`. */
  readonly files: readonly Blob[];
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
}

/** Parameters of `fileUploadRemote`. */
export interface FileUploadRemoteParameters extends Place {
  /** An http or https URL whose host is public. */
  readonly url: string;
}

/** What `fileUploadRemote` answers. */
export interface FileUploadRemoteData extends Success {
  readonly baseurl: string;
  /** Path relative to the root of the source. */
  readonly newfilename: string;
  readonly isImage: boolean;
}

/** Parameters of `fileRemove`. */
export interface FileRemoveParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
}

/** Parameters of `fileMove`. */
export interface FileMoveParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from: string;
}

/** Parameters of `fileCopy`. */
export interface FileCopyParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from: string;
}

/** Parameters of `fileRename`. */
export interface FileRenameParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** The new name. Unsafe characters become `_`. */
  readonly newname: string;
}

/** Parameters of `fileDownload`. */
export interface FileDownloadParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
}

/** Parameters of `getLocalFileByUrl`. */
export interface GetLocalFileByUrlParameters {
  /** Public URL of the file. */
  readonly url: string;
}

/** What `getLocalFileByUrl` answers. */
export interface GetLocalFileByUrlData extends Success {
  /** The folder, with a leading slash. */
  readonly path: string;
  readonly name: string;
  readonly source: string;
}

/** Parameters of `folders`. */
export interface FoldersParameters extends Place {
  /** False leaves `.` and `..` out. */
  readonly dots?: boolean | undefined;
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
}

/** Parameters of `folderCreate`. */
export interface FolderCreateParameters extends Place {
  /** The new name. Unsafe characters become `_`. */
  readonly name: string;
}

/** What `folderCreate` answers. */
export interface FolderCreateData extends Success {
  readonly messages: readonly string[];
}

/** Parameters of `folderRemove`. */
export interface FolderRemoveParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
}

/** Parameters of `folderMove`. */
export interface FolderMoveParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from: string;
}

/** Parameters of `folderCopy`. */
export interface FolderCopyParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from: string;
}

/** Parameters of `folderRename`. */
export interface FolderRenameParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** The new name. Unsafe characters become `_`. */
  readonly newname: string;
}

/** Parameters of `imageResize`. */
export interface ImageResizeParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** Where the result goes; over the original when absent. */
  readonly newname?: string | undefined;
  readonly box: {
    readonly w: number;
    readonly h: number;
  };
}

/** What `imageResize` answers. */
export interface ImageResizeData extends Success {
  /** Public URL of the written file. */
  readonly newPath: string;
}

/** Parameters of `imageCrop`. */
export interface ImageCropParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** Where the result goes; over the original when absent. */
  readonly newname?: string | undefined;
  readonly box: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
}

/** What `imageCrop` answers. */
export interface ImageCropData extends Success {
  /** Public URL of the written file. */
  readonly newPath: string;
}

/** Parameters of `imageSave`. */
export interface ImageSaveParameters extends Place {
  /** The image that is replaced, unless `newname` is given. */
  readonly name?: string | undefined;
  /** The name to store it under. */
  readonly newname?: string | undefined;
  /** The files. A `File` brings its name; give one to a `Blob` by `new File([blob], name)`. */
  readonly files: readonly Blob[];
}

/** What `imageSave` answers. */
export interface ImageSaveData extends Success {
  /** Public URL of the stored file. */
  readonly newPath: string;
  /** The name under which it was really stored. */
  readonly name: string;
}

/** Parameters of `imageLoad`. */
export interface ImageLoadParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
}

/** What `imageLoad` answers. */
export interface ImageLoadData extends Success {
  /** Data URL in base64. */
  readonly content: string;
  readonly name: string;
}

/** Parameters of `generatePdf`. */
export interface GeneratePdfParameters extends Place {
  /** The content, as HTML. Scripts in it never run. */
  readonly html: string;
  readonly options?:
    | {
        /** A4 when absent. */
        readonly format?: 'A4' | 'A3' | 'Letter' | 'Legal' | 'Tabloid' | undefined;
        /** portrait when absent. */
        readonly page_orientation?: 'portrait' | 'landscape' | undefined;
      }
    | undefined;
}

/** Parameters of `generateDocx`. */
export interface GenerateDocxParameters extends Place {
  /** The content, as HTML. Scripts in it never run. */
  readonly html: string;
}

/** Every action with its parameters and its answer. */
export interface Actions {
  /** Tells what the current role may do in a folder. */
  readonly permissions: {
    readonly parameters: Place;
    readonly answer: PermissionsData;
  };
  /** Lists the files, and on request the folders, of a folder. */
  readonly files: {
    readonly parameters: FilesParameters;
    readonly answer: FilesData;
  };
  /** Stores the files of a multipart form in a folder. */
  readonly fileUpload: {
    readonly parameters: FileUploadParameters;
    readonly answer: FileUploadData;
  };
  /** Downloads a file from a public http or https address into a folder. */
  readonly fileUploadRemote: {
    readonly parameters: FileUploadRemoteParameters;
    readonly answer: FileUploadRemoteData;
  };
  /** Removes a file. */
  readonly fileRemove: {
    readonly parameters: FileRemoveParameters;
    readonly answer: Success;
  };
  /** Moves a file or folder into another folder, also of another source (`fromSource`). */
  readonly fileMove: {
    readonly parameters: FileMoveParameters;
    readonly answer: Success;
  };
  /** Copies a file into a folder, also of another source (`fromSource`); where the name is taken the copy gets a number. */
  readonly fileCopy: {
    readonly parameters: FileCopyParameters;
    readonly answer: Success;
  };
  /** Renames a file. It keeps its extension. */
  readonly fileRename: {
    readonly parameters: FileRenameParameters;
    readonly answer: Success;
  };
  /** Sends a file as an attachment. */
  readonly fileDownload: {
    readonly parameters: FileDownloadParameters;
    readonly answer: Response;
  };
  /** Finds the file of a source that a public URL belongs to. */
  readonly getLocalFileByUrl: {
    readonly parameters: GetLocalFileByUrlParameters;
    readonly answer: GetLocalFileByUrlData;
  };
  /** Lists the sub-folders of a folder. */
  readonly folders: {
    readonly parameters: FoldersParameters;
    readonly answer: FoldersData;
  };
  /** Creates a folder; unsafe characters of its name become an underscore. */
  readonly folderCreate: {
    readonly parameters: FolderCreateParameters;
    readonly answer: FolderCreateData;
  };
  /** Removes a folder with its contents. */
  readonly folderRemove: {
    readonly parameters: FolderRemoveParameters;
    readonly answer: Success;
  };
  /** Moves a folder or file into another folder, also of another source (`fromSource`). */
  readonly folderMove: {
    readonly parameters: FolderMoveParameters;
    readonly answer: Success;
  };
  /** Copies a folder with its contents, also into another source (`fromSource`); where the name is taken the copy gets a number. */
  readonly folderCopy: {
    readonly parameters: FolderCopyParameters;
    readonly answer: Success;
  };
  /** Renames a folder. */
  readonly folderRename: {
    readonly parameters: FolderRenameParameters;
    readonly answer: Success;
  };
  /** Scales an image to a size, over the original or as another file. */
  readonly imageResize: {
    readonly parameters: ImageResizeParameters;
    readonly answer: ImageResizeData;
  };
  /** Cuts a box out of an image, over the original or as another file. */
  readonly imageCrop: {
    readonly parameters: ImageCropParameters;
    readonly answer: ImageCropData;
  };
  /** Stores an edited image, over the original or as another file. */
  readonly imageSave: {
    readonly parameters: ImageSaveParameters;
    readonly answer: ImageSaveData;
  };
  /** Returns an image as a data URL. */
  readonly imageLoad: {
    readonly parameters: ImageLoadParameters;
    readonly answer: ImageLoadData;
  };
  /** Renders HTML as document.pdf. */
  readonly generatePdf: {
    readonly parameters: GeneratePdfParameters;
    readonly answer: Response;
  };
  /** Converts HTML into document.docx. */
  readonly generateDocx: {
    readonly parameters: GenerateDocxParameters;
    readonly answer: Response;
  };
}

/** Whether an action answers data or a file. */
export const answerKinds = {
  permissions: 'data',
  files: 'data',
  fileUpload: 'data',
  fileUploadRemote: 'data',
  fileRemove: 'data',
  fileMove: 'data',
  fileCopy: 'data',
  fileRename: 'data',
  fileDownload: 'file',
  getLocalFileByUrl: 'data',
  folders: 'data',
  folderCreate: 'data',
  folderRemove: 'data',
  folderMove: 'data',
  folderCopy: 'data',
  folderRename: 'data',
  imageResize: 'data',
  imageCrop: 'data',
  imageSave: 'data',
  imageLoad: 'data',
  generatePdf: 'file',
  generateDocx: 'file',
} as const satisfies Readonly<Record<keyof Actions, 'data' | 'file'>>;
