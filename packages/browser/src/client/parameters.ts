// Generated from the actions by `npm run generate`. Do not edit.

/** Where an action works. */
export interface Place {
  /** Name of a source. When absent, listings cover every source, and other actions use the first. */
  readonly source?: string | undefined;
  /** A folder inside the source; the root when absent. */
  readonly path?: string | undefined;
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
        /** Adds bytes, modified, mime, etag, and width and height of images, to each item, and total to each source. */
        readonly details?: boolean | undefined;
        /** Adds `variants` to images: one path for each of the imagePresets. */
        readonly variants?: boolean | undefined;
        /** Keeps names that contain it, whatever their case. */
        readonly filterWord?: string | undefined;
      }
    | undefined;
}

/** Parameters of `fileUpload`. */
export interface FileUploadParameters extends Place {
  /** The files. A `File` brings its name; give one to a `Blob` by `new File([blob], name)`. */
  readonly files: readonly Blob[];
}

/** Parameters of `fileUploadRemote`. */
export interface FileUploadRemoteParameters extends Place {
  /** An http or https URL whose host is public. */
  readonly url: string;
}

/** Parameters of `fileRemove`. */
export interface FileRemoveParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name?: string | undefined;
  /** Several items of the folder, in place of `name`. */
  readonly names?: readonly string[] | undefined;
}

/** Parameters of `fileMove`. */
export interface FileMoveParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from?: string | undefined;
  /** Several files or folders, in place of `from`. */
  readonly froms?: readonly string[] | undefined;
}

/** Parameters of `fileCopy`. */
export interface FileCopyParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from?: string | undefined;
  /** Several files or folders, in place of `from`. */
  readonly froms?: readonly string[] | undefined;
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
  readonly name?: string | undefined;
  /** Files and folders of the folder, for one archive. */
  readonly names?: readonly string[] | undefined;
}

/** Parameters of `getLocalFileByUrl`. */
export interface GetLocalFileByUrlParameters {
  /** Public URL of the file. */
  readonly url: string;
}

/** Parameters of `folders`. */
export interface FoldersParameters extends Place {
  /** False leaves `.` and `..` out. */
  readonly dots?: boolean | undefined;
}

/** Parameters of `folderCreate`. */
export interface FolderCreateParameters extends Place {
  /** The new name. Unsafe characters become `_`. */
  readonly name: string;
}

/** Parameters of `folderRemove`. */
export interface FolderRemoveParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name?: string | undefined;
  /** Several items of the folder, in place of `name`. */
  readonly names?: readonly string[] | undefined;
}

/** Parameters of `folderMove`. */
export interface FolderMoveParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from?: string | undefined;
  /** Several files or folders, in place of `from`. */
  readonly froms?: readonly string[] | undefined;
}

/** Parameters of `folderCopy`. */
export interface FolderCopyParameters extends Place {
  /** The source that `from` lies in; `source` when absent. */
  readonly fromSource?: string | undefined;
  /** Path of the file or folder, relative to the root of its source. */
  readonly from?: string | undefined;
  /** Several files or folders, in place of `from`. */
  readonly froms?: readonly string[] | undefined;
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

/** Parameters of `imageSave`. */
export interface ImageSaveParameters extends Place {
  /** The image that is replaced, unless `newname` is given. */
  readonly name?: string | undefined;
  /** The name to store it under. */
  readonly newname?: string | undefined;
  /** The files. A `File` brings its name; give one to a `Blob` by `new File([blob], name)`. */
  readonly files: readonly Blob[];
}

/** Parameters of `imageLoad`. */
export interface ImageLoadParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
}

/** Parameters of `generatePdf`. */
export interface GeneratePdfParameters extends Place {
  /** Saves the document in the folder under this name, as uploads are, and answers about that. */
  readonly name?: string | undefined;
  /** The content, as HTML. Scripts in it never run. */
  readonly html: string;
  readonly options?:
    | {
        /** A4 when absent. */
        readonly format?: 'A4' | 'A3' | 'Letter' | 'Legal' | 'Tabloid' | undefined;
        /** portrait when absent. */
        readonly page_orientation?: 'portrait' | 'landscape' | undefined;
        /** One to four lengths as in CSS: "20mm", "1in 2cm". */
        readonly margin?: string | undefined;
        /** Text above the text of every page, with {page}, {pages}, {title} and {date}. */
        readonly header?: string | undefined;
        /** center when absent. */
        readonly header_align?: 'left' | 'center' | 'right' | undefined;
        /** Text below the text of every page, with {page}, {pages}, {title} and {date}. */
        readonly footer?: string | undefined;
        /** center when absent. */
        readonly footer_align?: 'left' | 'center' | 'right' | undefined;
      }
    | undefined;
}

/** Parameters of `generateDocx`. */
export interface GenerateDocxParameters extends Place {
  /** Saves the document in the folder under this name, as uploads are, and answers about that. */
  readonly name?: string | undefined;
  /** The content, as HTML. Scripts in it never run. */
  readonly html: string;
  readonly options?:
    | {
        /** A4 when absent. */
        readonly format?: 'A4' | 'A3' | 'Letter' | 'Legal' | 'Tabloid' | undefined;
        /** portrait when absent. */
        readonly page_orientation?: 'portrait' | 'landscape' | undefined;
        /** One to four lengths as in CSS: "20mm", "1in 2cm". */
        readonly margin?: string | undefined;
        /** Text above the text of every page, with {page}, {pages}, {title} and {date}. */
        readonly header?: string | undefined;
        /** center when absent. */
        readonly header_align?: 'left' | 'center' | 'right' | undefined;
        /** Text below the text of every page, with {page}, {pages}, {title} and {date}. */
        readonly footer?: string | undefined;
        /** center when absent. */
        readonly footer_align?: 'left' | 'center' | 'right' | undefined;
      }
    | undefined;
}

/** Parameters of `imageRotate`. */
export interface ImageRotateParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** Where the result goes; over the original when absent. */
  readonly newname?: string | undefined;
  /** Clockwise, in degrees. */
  readonly angle?: 90 | 180 | 270 | undefined;
  /** `horizontal`: left and right change sides. */
  readonly flip?: 'horizontal' | 'vertical' | undefined;
}

/** Parameters of `trashList`. */
export interface TrashListParameters {
  /** Name of a source. When absent, listings cover every source, and other actions use the first. */
  readonly source?: string | undefined;
  /** How many items come before the page. */
  readonly offset?: number | undefined;
  /** The most items of a page; never more than 1000. */
  readonly limit?: number | undefined;
}

/** Parameters of `trashRestore`. */
export interface TrashRestoreParameters extends Place {
  /** As `trashList` gives it. */
  readonly id: string;
}

/** Parameters of `trashRemove`. */
export interface TrashRemoveParameters {
  /** Name of a source. When absent, listings cover every source, and other actions use the first. */
  readonly source?: string | undefined;
  /** As `trashList` gives it. */
  readonly id: string;
}

/** Parameters of `imageVariant`. */
export interface ImageVariantParameters extends Place {
  /** Name of an existing file or folder in `path`. */
  readonly name: string;
  /** A name of the setting imagePresets. */
  readonly preset: string;
}

/** Parameters of `filesSearch`. */
export interface FilesSearchParameters extends Place {
  /** Words that a name must hold, all of them, whatever their case and order. */
  readonly query: string;
  /** Items of this type alone, as `files` reports it: `file` is what is not an image. */
  readonly type?: 'image' | 'file' | 'folder' | undefined;
  /** Changed at this moment or later. A date means its beginning, in UTC. */
  readonly modifiedAfter?: string | undefined;
  /** Changed before this moment. */
  readonly modifiedBefore?: string | undefined;
  /** Files of so many bytes or more. */
  readonly minBytes?: number | undefined;
  /** Files of so many bytes or fewer. */
  readonly maxBytes?: number | undefined;
  /** Most items of an answer; 100 when absent, 1000 at most. */
  readonly limit?: number | undefined;
  /** Goes on where the answer ended that gave it; all other parameters stay the same. */
  readonly cursor?: string | undefined;
  readonly mods?:
    | {
        /** Adds bytes, modified, mime, etag, width and height, as in `files`. */
        readonly details?: boolean | undefined;
      }
    | undefined;
}
