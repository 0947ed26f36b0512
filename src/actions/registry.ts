import type { z } from 'zod';
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

// Each action is typed by its own schema; in the registry only the schema itself says what `run` takes, and the edge
// hands `run` nothing but what that schema has returned.
const untyped = <Schema extends z.ZodType>(action: Action<Schema>): Action => action;

/** Every action of the protocol, in its order. */
export const createActions = (): Actions => {
  const all = [
    untyped(permissionsAction),
    untyped(filesAction),
    untyped(fileUploadAction),
    untyped(fileUploadRemoteAction),
    untyped(fileRemoveAction),
    untyped(fileMoveAction),
    untyped(fileCopyAction),
    untyped(fileRenameAction),
    untyped(fileDownloadAction),
    untyped(getLocalFileByUrlAction),
    untyped(foldersAction),
    untyped(folderCreateAction),
    untyped(folderRemoveAction),
    untyped(folderMoveAction),
    untyped(folderCopyAction),
    untyped(folderRenameAction),
    untyped(imageResizeAction),
    untyped(imageCropAction),
    untyped(imageSaveAction),
    untyped(imageLoadAction),
    untyped(generatePdfAction),
    untyped(generateDocxAction),
  ];
  return new Map(all.map((action) => [action.name, action]));
};
