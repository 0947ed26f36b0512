import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { humanSize } from '#internals';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

describe('humanSize', () => {
  it.each([
    [0, '0B'],
    [1, '1B'],
    [1000, '1000B'],
    [1023, '1023B'],
    [1024, '1KB'],
    [1157, '1.13KB'],
    [1536, '1.5KB'],
    [10_240, '10KB'],
    [1024 ** 2 - 1, '1MB'],
    [1024 ** 2, '1MB'],
    [123_459_338, '117.74MB'],
    [1024 ** 3, '1GB'],
    [1.5 * 1024 ** 4, '1.5TB'],
    [5000 * 1024 ** 4, '5000TB'],
  ])('writes %d bytes as %s', (bytes, text) => {
    expect(humanSize(bytes)).toBe(text);
  });

  it('stays within half of the last digit, in the form that the client reads', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        const match = /^(\d+(?:\.\d{0,1}[1-9])?)(B|KB|MB|GB|TB)$/u.exec(humanSize(bytes));
        expect(match).not.toBeNull();
        const unit = 1024 ** UNITS.indexOf(match?.[2] ?? '');
        expect(Math.abs(Number(match?.[1]) * unit - bytes)).toBeLessThanOrEqual(0.00501 * unit);
      }),
    );
  });
});
