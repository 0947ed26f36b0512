import { readFile } from 'node:fs/promises';
import { Ajv, type ValidateFunction } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { problemsOf, source } from './load.ts';

let validate: ValidateFunction;

beforeAll(async () => {
  const text = await readFile(new URL('../../packages/stowage/config.schema.json', import.meta.url), 'utf8');
  validate = new Ajv({ strict: true, strictTypes: false, strictRequired: false }).compile(
    JSON.parse(text) as object,
  );
});

const withSource = (changes: Record<string, unknown>): unknown => ({ sources: { photos: source(changes) } });

describe('config.schema.json', () => {
  it.each([
    [{}],
    [{ $schema: './config.schema.json', sources: null, quality: null }],
    [{ pdf: { isRemoteEnabled: null, paper: { format: 'A3' } }, dynamicSourcesCache: { max: 3 } }],
    [
      {
        maxUploadFileSize: '20mb',
        maxFileSize: 1000,
        allowedOrigins: ['https://a.example'],
        saveSameFileNameStrategy: null,
      },
    ],
    [
      {
        accessControl: [
          { role: 'guest', path: '/a', extensions: ['png'], FILE_REMOVE: false },
          { extensions: '*' },
        ],
      },
    ],
    [{ sources: {} }],
    [withSource({ thumbSize: 10, pdf: { isRemoteEnabled: false }, name: 'Holiday', onlyPOST: true })],
    [withSource({ storageAdapter: 's3', s3: { bucket: 'b' }, root: undefined })],
    [withSource({ storageAdapter: 'vault', vault: { key: 1 }, root: null })],
  ])('accepts what the service accepts: %j', (input) => {
    const written: unknown = JSON.parse(JSON.stringify(input));
    expect(problemsOf(written)).toEqual([]);
    expect(validate(written), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each([
    [{ quality: '90' }],
    [{ quality: 0 }],
    [{ thumbSize: 2.5 }],
    [{ colour: 'red' }],
    [{ pdf: { isRemoteEnable: true } }],
    [{ extensions: ['.png'] }],
    [{ extensions: [null] }],
    [{ saveSameFileNameStrategy: 'overwrite' }],
    [{ accessControl: [{ FILES: 'no' }] }],
    [{ sources: [] }],
    [{ storageAdapter: 's3' }],
    [withSource({ title: undefined })],
    [withSource({ root: undefined })],
    [withSource({ baseurl: 'files/' })],
    [withSource({ thumbSize: 'big' })],
    [withSource({ thumbsize: 5 })],
    [withSource({ storageAdapter: 's3' })],
    [withSource({ storageAdapter: 'sftp' })],
    [withSource({ storageAdapter: 'ftp' })],
    [withSource({ storageAdapter: 'webdav' })],
  ])('refuses what the service refuses: %j', (input) => {
    const written: unknown = JSON.parse(JSON.stringify(input));
    expect(problemsOf(written)).not.toEqual([]);
    expect(validate(written)).toBe(false);
  });
});
