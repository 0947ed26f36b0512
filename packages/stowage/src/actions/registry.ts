import { type Action, accessKeyOf } from './action.ts';
import { imageCropAction, imageResizeAction, imageRotateAction } from './edit-image.ts';
import { fileDescribeAction } from './file-describe.ts';
import { fileDownloadAction } from './file-download.ts';
import { fileReplaceAction } from './file-replace.ts';
import { fileUploadRemoteAction } from './file-upload-remote.ts';
import { fileUploadAction } from './file-upload.ts';
import { fileUsesAction } from './file-uses.ts';
import { filesSearchAction } from './files-search.ts';
import { filesAction } from './files.ts';
import {
  fileCopyAction,
  fileMoveAction,
  fileRemoveAction,
  fileRenameAction,
  folderCopyAction,
  folderCreateAction,
  folderMoveAction,
  folderRemoveAction,
  folderRenameAction,
} from './items.ts';
import { foldersAction } from './folders.ts';
import { generateDocxAction, generatePdfAction } from './generate-documents.ts';
import { getLocalFileByUrlAction } from './get-local-file-by-url.ts';
import { imageLoadAction } from './image-load.ts';
import { imageSaveAction } from './image-save.ts';
import { imageVariantAction } from './image-variant.ts';
import { PROTOCOL, createPermissionsAction } from './permissions.ts';
import { trashEmptyAction, trashListAction, trashRemoveAction, trashRestoreAction } from './trash.ts';

/** Actions by name: the origin of routes, validation, access keys and the interface description. */
export type Actions = ReadonlyMap<string, Action>;

/** Every action of the protocol, in its order, and then the extensions. */
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
    fileReplaceAction,
    fileDescribeAction,
    fileUsesAction,
  ];
  const all = [createPermissionsAction(others), ...others];
  return new Map(all.map((action) => [action.name, action]));
};

/** Only its own key denies the request for permissions; group keys do not. */
const WITHOUT_GROUP = 'PERMISSIONS';

interface StandIns {
  readonly group?: 'CHANGE' | 'READ' | undefined;
  readonly follows?: string | undefined;
}

/**
 * The keys that access rules can name: one for each action, from its declaration, so that a rule about all
 * changes covers every action that may change something.
 */
export const ruleKeysOf = (actions: Actions): ReadonlyMap<string, StandIns> => {
  const names = new Set([...PROTOCOL, ...actions.keys()]);
  const keys = [...names].map((name): [string, StandIns] => {
    const key = accessKeyOf(name);
    const { changes = false, follows } = actions.get(name) ?? {};
    return [key, { group: key === WITHOUT_GROUP ? undefined : changes ? 'CHANGE' : 'READ', follows }];
  });
  return new Map<string, StandIns>([['CHANGE', {}], ['READ', {}], ...keys]);
};
