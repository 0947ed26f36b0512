import { HttpError, type ConnectorHooks } from 'stowage';
import { describe, expect, it } from 'vitest';
import { startService, type Service, type ServiceOptions } from './service.ts';

/** Flag and key of rules, in the order of the protocol; then other keys whose denial denies the action too. */
const TABLE = [
  ['allowFiles', 'FILES'],
  ['allowFileMove', 'FILE_MOVE'],
  ['allowFileCopy', 'FILE_COPY'],
  ['allowFileUpload', 'FILE_UPLOAD'],
  ['allowFileUploadRemote', 'FILE_UPLOAD_REMOTE', 'FILE_UPLOAD'],
  ['allowFileRemove', 'FILE_REMOVE'],
  ['allowFileRename', 'FILE_RENAME'],
  ['allowFileDownload', 'FILE_DOWNLOAD'],
  ['allowFolders', 'FOLDERS'],
  ['allowFolderMove', 'FOLDER_MOVE'],
  ['allowFolderCopy', 'FOLDER_COPY'],
  ['allowFolderCreate', 'FOLDER_CREATE'],
  ['allowFolderRemove', 'FOLDER_REMOVE'],
  ['allowFolderRename', 'FOLDER_RENAME'],
  ['allowFolderTree', 'FOLDER_TREE'],
  ['allowImageResize', 'IMAGE_RESIZE'],
  ['allowImageCrop', 'IMAGE_CROP'],
  ['allowImageSave', 'IMAGE_SAVE'],
  ['allowImageLoad', 'IMAGE_LOAD'],
  ['allowGeneratePdf', 'GENERATE_PDF'],
  ['allowGenerateDocx', 'GENERATE_DOCX'],
  ['allowImageRotate', 'IMAGE_ROTATE', 'IMAGE_RESIZE'],
  ['allowTrashList', 'TRASH_LIST'],
  ['allowTrashRestore', 'TRASH_RESTORE'],
  ['allowTrashRemove', 'TRASH_REMOVE'],
  ['allowTrashEmpty', 'TRASH_EMPTY'],
  ['allowImageVariant', 'IMAGE_VARIANT'],
  ['allowFilesSearch', 'FILES_SEARCH'],
  ['allowFileReplace', 'FILE_REPLACE', 'FILE_UPLOAD', 'FILE_REMOVE'],
  ['allowFileDescribe', 'FILE_DESCRIBE'],
  ['allowFileUses', 'FILE_USES', 'FILES'],
] as const;

const flags = TABLE.map(([flag]) => flag);
const deniedBy = (...denied: readonly string[]): string[] =>
  TABLE.filter(([, ...keys]) => keys.some((key) => denied.includes(key))).map(([flag]) => flag);
const denied = (permissions: unknown): string[] =>
  Object.entries(permissions as Record<string, boolean>)
    .filter(([, allowed]) => !allowed)
    .map(([flag]) => flag);

/** A service whose sources have a trash, and whose host knows its pages, so that every action can be allowed. */
const start = (options: ServiceOptions = {}, hooks: ConnectorHooks = {}): Promise<Service> =>
  startService({ trash: {}, ...options }, { findUses: () => [], ...hooks });

describe('permissions', () => {
  it('allows everything without rules, in the order of the protocol', async () => {
    const service = await start();
    const { status, success, data } = await service.call('permissions');
    expect({ status, success }).toEqual({ status: 200, success: true });
    expect(Object.keys(data)).toEqual(['code', 'permissions', 'limits']);
    expect(data['code']).toBe(220);
    expect(Object.entries(data['permissions'] as object)).toEqual(flags.map((flag) => [flag, true]));
  });

  it('answers GET like POST', async () => {
    const service = await start({ accessControl: [{ FILE_REMOVE: false }] });
    const response = await service.get('permissions', { path: 'x' });
    const posted = await service.call('permissions', { path: 'x' });
    expect((await response.json()) as unknown).toEqual({ success: true, data: posted.data });
    expect(denied(posted.data['permissions'])).toEqual(deniedBy('FILE_REMOVE'));
  });

  it('reports each key in its flag', async () => {
    for (const [, key] of TABLE) {
      const service = await start({ accessControl: [{ [key]: false }] });
      const { data } = await service.call('permissions');
      expect(denied(data['permissions'])).toEqual(deniedBy(key));
    }
  });

  it('evaluates role and path, also of missing folders', async () => {
    const service = await start(
      {
        accessControl: [
          { FILE_UPLOAD: false, FOLDER_CREATE: false },
          { role: 'editor', path: '/blog', FILE_UPLOAD: true },
          { role: 'editor', path: '/blog/archive', FILE_REMOVE: false },
        ],
      },
      { checkAuthentication: (request) => request.headers['x-role'] ?? 'guest' },
    );
    const ask = async (role: string, path: string): Promise<string[]> => {
      const url = `${service.url}/permissions?path=${encodeURIComponent(path)}`;
      const body = (await (await fetch(url, { headers: { 'x-role': role } })).json()) as {
        data: { permissions: object };
      };
      return denied(body.data.permissions);
    };
    // To restore a folder is to create it, and a file, to upload it.
    const noNew = ['allowTrashRestore', ...deniedBy('FILE_UPLOAD', 'FOLDER_CREATE')];
    const nothingNew = flags.filter((flag) => noNew.includes(flag));
    expect(await ask('guest', '/blog')).toEqual(nothingNew);
    expect(await ask('editor', '/')).toEqual(nothingNew);
    expect(await ask('editor', '/blog-2')).toEqual(nothingNew);
    for (const path of ['/blog', 'blog/', './blog', '/blog/2026/../', '/blog/none/such']) {
      expect(await ask('editor', path), path).toEqual(deniedBy('FOLDER_CREATE'));
    }
    expect(await ask('editor', 'blog/archive/2020')).toEqual(deniedBy('FILE_REMOVE', 'FOLDER_CREATE'));
  });

  it('answers for the first, the given and no source', async () => {
    const two = await start({ sources: { one: {}, two: { name: 'second' } } });
    for (const source of ['', 'one', 'two', 'second', 'default']) {
      const { data } = await two.call('permissions', { source });
      expect(denied(data['permissions']), source).toEqual([]);
    }
    const unknown = await two.call('permissions', { source: 'three' });
    expect([unknown.status, unknown.data['code']]).toEqual([404, 404]);

    const none = await start({ sources: {} });
    const { status, data } = await none.call('permissions');
    expect(status).toBe(200);
    expect(Object.keys(data['permissions'] as object)).toEqual(flags);
    expect(denied(data['permissions'])).toEqual(flags);
    expect((await none.call('permissions', { source: 'one' })).status).toBe(404);
  });

  it('is itself an action that rules may deny', async () => {
    const service = await start({ accessControl: [{ PERMISSIONS: false }] });
    const { status, success, data } = await service.call('permissions');
    expect({ status, success, code: data['code'] }).toEqual({ status: 403, success: false, code: 403 });
  });

  it('refuses paths that leave the source', async () => {
    const service = await start();
    for (const path of ['..', '/../x', 'a/../../b', 'a\\..\\b', 'a\u0000b']) {
      const { status, messages } = await service.call('permissions', { path });
      expect(status, path).toBe(400);
      expect(messages).toHaveLength(1);
    }
  });

  it('passes on what the authentication hook says', async () => {
    const service = await start(
      {},
      {
        checkAuthentication: () => {
          throw new HttpError(401, 'Log in first.');
        },
      },
    );
    const { status, messages } = await service.call('permissions');
    expect(status).toBe(401);
    expect(messages).toEqual(['Log in first.']);
  });

  it('allows what works for some extension or for one item of the folder, and nothing that never works', async () => {
    const service = await start({
      accessControl: [
        { IMAGE_SAVE: false, FILE_REMOVE: false, FILES: false, FOLDER_REMOVE: false },
        { extensions: 'png', IMAGE_SAVE: true, FILES: true, FOLDER_REMOVE: true },
        { path: 'drafts', FILE_REMOVE: true },
      ],
    });
    const deniedIn = async (path: string): Promise<string[]> =>
      denied((await service.call('permissions', { path })).data['permissions']);
    expect(await deniedIn('drafts')).toEqual(['allowFiles', 'allowFolderRemove']);
    expect(await deniedIn('other')).toEqual([
      'allowFiles',
      'allowFileRemove',
      'allowFolderRemove',
      'allowTrashRemove',
      'allowTrashEmpty',
      'allowFileReplace',
    ]);
    expect((await service.call('files', { path: '' })).status).toBe(403);
  });
});
