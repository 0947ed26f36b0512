import type { Action } from './action.ts';
import { fileCopyAction, folderCopyAction } from './copy.ts';
import { imageCropAction, imageResizeAction, imageRotateAction } from './edit-image.ts';
import { fileDownloadAction } from './file-download.ts';
import { fileUploadRemoteAction } from './file-upload-remote.ts';
import { fileUploadAction } from './file-upload.ts';
import { filesSearchAction } from './files-search.ts';
import { filesAction } from './files.ts';
import { folderCreateAction } from './folder-create.ts';
import { foldersAction } from './folders.ts';
import { generateDocxAction, generatePdfAction } from './generate-documents.ts';
import { getLocalFileByUrlAction } from './get-local-file-by-url.ts';
import { imageLoadAction } from './image-load.ts';
import { imageSaveAction } from './image-save.ts';
import { imageVariantAction } from './image-variant.ts';
import { fileMoveAction, folderMoveAction } from './move.ts';
import { createPermissionsAction } from './permissions.ts';
import { fileRemoveAction, folderRemoveAction } from './remove.ts';
import { fileRenameAction, folderRenameAction } from './rename.ts';
import { trashListAction } from './trash/trash-list.ts';
import { trashEmptyAction, trashRemoveAction } from './trash/trash-remove.ts';
import { trashRestoreAction } from './trash/trash-restore.ts';

/**
 * Actions by name. Routes, parameter checks, access keys and the interface description all come from here.
 */
export type Actions = ReadonlyMap<string, Action>;

/** Every action of the protocol, in its order, and then what goes beyond it. */
export const createActions = (): Actions => {
  const others = [
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
    imageRotateAction,
    trashListAction,
    trashRestoreAction,
    trashRemoveAction,
    trashEmptyAction,
    imageVariantAction,
    filesSearchAction,
  ];
  const all = [createPermissionsAction(others), ...others];
  return new Map(all.map((action) => [action.name, action]));
};
