import type { Action } from './action.ts';
import { fileCopyAction, folderCopyAction } from './copy.ts';
import { fileDownloadAction } from './file-download.ts';
import { fileRemoveAction } from './file-remove.ts';
import { fileRenameAction } from './file-rename.ts';
import { fileUploadRemoteAction } from './file-upload-remote.ts';
import { fileUploadAction } from './file-upload.ts';
import { filesAction } from './files.ts';
import { folderCreateAction } from './folder-create.ts';
import { folderRemoveAction } from './folder-remove.ts';
import { folderRenameAction } from './folder-rename.ts';
import { foldersAction } from './folders.ts';
import { generateDocxAction } from './generate-docx.ts';
import { generatePdfAction } from './generate-pdf.ts';
import { getLocalFileByUrlAction } from './get-local-file-by-url.ts';
import { imageCropAction } from './image-crop.ts';
import { imageLoadAction } from './image-load.ts';
import { imageResizeAction } from './image-resize.ts';
import { imageSaveAction } from './image-save.ts';
import { fileMoveAction, folderMoveAction } from './move.ts';
import { permissionsAction } from './permissions.ts';

/** Actions by name. Routes, parameter checks, access keys and the interface description all come from here. */
export type Actions = ReadonlyMap<string, Action>;

/** Every action of the protocol, in its order. */
export const createActions = (): Actions => {
  const all = [
    permissionsAction,
    filesAction,
    fileUploadAction,
    fileUploadRemoteAction,
    fileRemoveAction,
    fileMoveAction,
    fileCopyAction,
    fileRenameAction,
    fileDownloadAction,
    getLocalFileByUrlAction,
    foldersAction,
    folderCreateAction,
    folderRemoveAction,
    folderMoveAction,
    folderCopyAction,
    folderRenameAction,
    imageResizeAction,
    imageCropAction,
    imageSaveAction,
    imageLoadAction,
    generatePdfAction,
    generateDocxAction,
  ];
  return new Map(all.map((action) => [action.name, action]));
};
