import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { NotFoundError, StorageFullError, StorageUnavailableError } from 'stowage/storage';
import { fromSystemError, systemCode } from '#internals';

/** An error as it comes from the system inside a test runner that gives each file a realm of its own. */
const foreign = (code: string): unknown =>
  runInNewContext(`Object.assign(new Error('failed'), { code: ${JSON.stringify(code)} })`);

describe('errors of the system from another realm', () => {
  it('are told by their code', () => {
    expect(foreign('ENOENT')).not.toBeInstanceOf(Error);
    expect(systemCode(foreign('ENOENT'))).toBe('ENOENT');
    expect(fromSystemError(foreign('ENOENT'), 'read')).toBeInstanceOf(NotFoundError);
    expect(fromSystemError(foreign('ENOSPC'), 'write')).toBeInstanceOf(StorageFullError);
    expect(fromSystemError(foreign('EIO'), 'write')).toBeInstanceOf(StorageUnavailableError);
  });

  it('have no code when they carry none', () => {
    for (const value of [undefined, null, 'ENOENT', {}, { code: 2 }])
      expect(systemCode(value)).toBe(undefined);
  });
});
