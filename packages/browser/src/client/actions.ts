// Generated from the actions by `npm run generate`. Do not edit.
import type * as answers from './answers.ts';
import type * as parameters from './parameters.ts';

/** Every action with its parameters and its answer. */
export interface Actions {
  /** Reports what the current role may do in a folder, and what bounds an upload into it. */
  readonly permissions: {
    readonly parameters: parameters.Place;
    readonly answer: answers.PermissionsData;
  };
  /** Lists the files, and on request the folders, of a folder. */
  readonly files: {
    readonly parameters: parameters.FilesParameters;
    readonly answer: answers.FilesData;
  };
  /** Stores the files of a multipart form in a folder. */
  readonly fileUpload: {
    readonly parameters: parameters.FileUploadParameters;
    readonly answer: answers.FileUploadData;
  };
  /** Downloads a file from a public http or https address into a folder. */
  readonly fileUploadRemote: {
    readonly parameters: parameters.FileUploadRemoteParameters;
    readonly answer: answers.FileUploadRemoteData;
  };
  /** Removes a file, or several, into the trash where the source has one. */
  readonly fileRemove: {
    readonly parameters: parameters.FileRemoveParameters;
    readonly answer: answers.FileRemoveData;
  };
  /** Moves a file or folder into another folder, also of another source (`fromSource`). */
  readonly fileMove: {
    readonly parameters: parameters.FileMoveParameters;
    readonly answer: answers.FileMoveData;
  };
  /** Copies a file into a folder, also of another source (`fromSource`); where the name is taken the copy gets a number. */
  readonly fileCopy: {
    readonly parameters: parameters.FileCopyParameters;
    readonly answer: answers.FileCopyData;
  };
  /** Renames a file, which keeps its extension, or a folder. */
  readonly fileRename: {
    readonly parameters: parameters.FileRenameParameters;
    readonly answer: answers.Success;
  };
  /** Sends a file as an attachment; several files and folders as a ZIP archive. */
  readonly fileDownload: {
    readonly parameters: parameters.FileDownloadParameters;
    readonly answer: Response;
  };
  /** Finds the file of a source that a public URL belongs to. */
  readonly getLocalFileByUrl: {
    readonly parameters: parameters.GetLocalFileByUrlParameters;
    readonly answer: answers.GetLocalFileByUrlData;
  };
  /** Lists the sub-folders of a folder. */
  readonly folders: {
    readonly parameters: parameters.FoldersParameters;
    readonly answer: answers.FoldersData;
  };
  /** Creates a folder; unsafe characters of its name become an underscore. */
  readonly folderCreate: {
    readonly parameters: parameters.FolderCreateParameters;
    readonly answer: answers.FolderCreateData;
  };
  /** Removes a folder with its contents, or several, into the trash where the source has one. */
  readonly folderRemove: {
    readonly parameters: parameters.FolderRemoveParameters;
    readonly answer: answers.FolderRemoveData;
  };
  /** Moves a folder or file into another folder, also of another source (`fromSource`). */
  readonly folderMove: {
    readonly parameters: parameters.FolderMoveParameters;
    readonly answer: answers.FolderMoveData;
  };
  /** Copies a folder with its contents, also into another source (`fromSource`); where the name is taken the copy gets a number. */
  readonly folderCopy: {
    readonly parameters: parameters.FolderCopyParameters;
    readonly answer: answers.FolderCopyData;
  };
  /** Renames a folder. */
  readonly folderRename: {
    readonly parameters: parameters.FolderRenameParameters;
    readonly answer: answers.Success;
  };
  /** Scales an image to a size, over the original or as another file. */
  readonly imageResize: {
    readonly parameters: parameters.ImageResizeParameters;
    readonly answer: answers.ImageResizeData;
  };
  /** Cuts a box out of an image, over the original or as another file. */
  readonly imageCrop: {
    readonly parameters: parameters.ImageCropParameters;
    readonly answer: answers.ImageCropData;
  };
  /** Stores an edited image, over the original or as another file. */
  readonly imageSave: {
    readonly parameters: parameters.ImageSaveParameters;
    readonly answer: answers.ImageSaveData;
  };
  /** Returns an image as a data URL. */
  readonly imageLoad: {
    readonly parameters: parameters.ImageLoadParameters;
    readonly answer: answers.ImageLoadData;
  };
  /** Renders HTML as document.pdf; with a name, as a file of a source. */
  readonly generatePdf: {
    readonly parameters: parameters.GeneratePdfParameters;
    readonly answer: Response;
    /** The answer when `name` is given. */
    readonly saved: { readonly by: 'name'; readonly answer: answers.GeneratePdfData };
  };
  /** Converts HTML into document.docx; with a name, into a file of a source. */
  readonly generateDocx: {
    readonly parameters: parameters.GenerateDocxParameters;
    readonly answer: Response;
    /** The answer when `name` is given. */
    readonly saved: { readonly by: 'name'; readonly answer: answers.GenerateDocxData };
  };
  /** Turns an image clockwise, mirrors it, or both in this order; over the original or as another file. */
  readonly imageRotate: {
    readonly parameters: parameters.ImageRotateParameters;
    readonly answer: answers.ImageRotateData;
  };
  /** Lists what was removed and can be restored, the newest first. */
  readonly trashList: {
    readonly parameters: parameters.TrashListParameters;
    readonly answer: answers.TrashListData;
  };
  /** Brings an item of the trash back; where its name is taken it gets a number. */
  readonly trashRestore: {
    readonly parameters: parameters.TrashRestoreParameters;
    readonly answer: answers.TrashRestoreData;
  };
  /** Removes an item of the trash for good. */
  readonly trashRemove: {
    readonly parameters: parameters.TrashRemoveParameters;
    readonly answer: answers.Success;
  };
  /** Removes everything in the trash of a source for good, as far as the role may. */
  readonly trashEmpty: {
    readonly parameters: parameters.Place;
    readonly answer: answers.TrashEmptyData;
  };
  /** Sends an image in the form of a preset. */
  readonly imageVariant: {
    readonly parameters: parameters.ImageVariantParameters;
    readonly answer: Response;
  };
  /** Finds files and folders by their names, in a folder and all below it. */
  readonly filesSearch: {
    readonly parameters: parameters.FilesSearchParameters;
    readonly answer: answers.FilesSearchData;
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
  imageRotate: 'data',
  trashList: 'data',
  trashRestore: 'data',
  trashRemove: 'data',
  trashEmpty: 'data',
  imageVariant: 'file',
  filesSearch: 'data',
} as const satisfies Readonly<Record<keyof Actions, 'data' | 'file'>>;
