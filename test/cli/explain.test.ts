import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkConfiguration, explain } from '#internals';
import { createFolder, runToEnd, type Folder } from './service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

const photos = () => ({
  photos: { title: 'Photos', root: folder.path, baseurl: 'https://cdn.example.com/' },
});

describe('stowage explain', () => {
  const rules = [
    { FILE_REMOVE: false, FILES: false },
    { role: 'editor', FILE_REMOVE: true, FILES: true },
    { role: 'editor', path: '/archive', FILE_REMOVE: false },
    { extensions: 'php, phtml', FILE_UPLOAD: false, FOLDER_CREATE: false },
    { role: 'visitor', CHANGE: false },
  ];

  it.each([
    [
      ['editor', 'fileRemove', 'archive/a.jpg'],
      'Denied. Rule 2 denies FILE_REMOVE for role "editor", paths below "/archive".',
    ],
    [['editor', 'FILE_REMOVE', '/news/a.jpg'], 'Allowed. Rule 1 allows FILE_REMOVE for role "editor".'],
    [['guest', 'files', '/'], 'Denied. Rule 0 denies FILES for every role.'],
    [
      ['editor', 'fileUpload', 'a.PHP'],
      'Denied. Rule 3 denies FILE_UPLOAD for every role, extensions php, phtml.',
    ],
    [['editor', 'fileUpload', 'a.php/'], 'Allowed. No rule for role "editor" mentions FILE_UPLOAD here.'],
    // It needs the keys of both: what decides is the one that is denied.
    [
      ['editor', 'fileUploadRemote', 'a.php'],
      'Denied. Rule 3 denies FILE_UPLOAD for every role, extensions php, phtml.',
    ],
    [['visitor', 'generatePdf', 'a.pdf'], 'Denied. Rule 4 denies FILE_UPLOAD for role "visitor".'],
    [['visitor', 'generatePdf', 'docs/'], 'Allowed. No rule for role "visitor" mentions GENERATE_PDF here.'],
    [['guest', 'trashRemove', 'a.jpg'], 'Denied. Rule 0 denies FILE_REMOVE for every role.'],
    [['visitor', 'imageRotate', 'a.jpg'], 'Denied. Rule 4 denies IMAGE_ROTATE for role "visitor".'],
    [['editor', 'folderCreate', 'a.php'], 'Allowed. No rule for role "editor" mentions FOLDER_CREATE here.'],
  ])('says what the rules say: %j', ([role = '', action = '', path = ''], answer) => {
    const configuration = checkConfiguration({ sources: photos(), accessControl: rules });
    expect(explain({ role, action, path }, configuration)).toBe(answer);
  });

  it('prints the answer', async () => {
    const config = await folder.config({ sources: photos(), accessControl: rules });
    expect(await runToEnd(['explain', 'guest', 'files', '/', '--config', config])).toEqual({
      status: 0,
      signal: null,
      stdout: 'Denied. Rule 0 denies FILES for every role.\n',
      stderr: '',
    });
  });

  it('ends with 1 for a configuration that is not valid', async () => {
    const config = await folder.config({ qualty: 80 });
    const ending = await runToEnd(['explain', 'editor', 'files', '/', '--config', config]);
    expect(ending).toMatchObject({ status: 1, stdout: '' });
    expect(ending.stderr).toContain('qualty: is not a known key');
  });
});
