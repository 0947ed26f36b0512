import dayjs from 'dayjs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compileDateFormat } from '#internals';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
];

const at = (iso: string): number => new Date(iso).getTime();

describe('compileDateFormat', () => {
  let zone: string | undefined;

  beforeEach(() => {
    zone = process.env['TZ'];
  });
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  const tokens = 'YYYY YY M MM MMM MMMM D DD d dd ddd dddd H HH h hh m mm s ss SSS A a'.split(' ');
  const literal = fc.constantFrom(
    '/',
    '-',
    ' ',
    ':',
    '.',
    ', ',
    'T',
    '年',
    'é',
    '[at]',
    '[MM on DD]',
    '[',
    ']',
    '[]',
    '\n',
  );
  const formatOf = (words: readonly string[]) =>
    fc
      .array(fc.oneof(fc.constantFrom(...words), literal), { minLength: 1, maxLength: 12 })
      .map((parts) => parts.join(''));

  it.each(ZONES)('says what dayjs says in %s', (name) => {
    process.env['TZ'] = name;
    fc.assert(
      fc.property(
        formatOf(tokens),
        fc.date({ min: new Date('0100-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }),
        (format, date) => {
          expect(compileDateFormat(format)(date.getTime())).toBe(dayjs(date).format(format));
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each(ZONES)('tells the offset as dayjs does in %s', (name) => {
    process.env['TZ'] = name;
    fc.assert(
      fc.property(
        formatOf(['Z', 'ZZ', 'HH']),
        fc.date({ min: new Date('1990-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
        (format, date) => {
          expect(compileDateFormat(format)(date.getTime())).toBe(dayjs(date).format(format));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('writes the default format as the client reads it', () => {
    process.env['TZ'] = 'UTC';
    const format = compileDateFormat('M/D/YYYY h:mm:ss A');
    expect(format(at('2026-11-21T00:05:09Z'))).toBe('11/21/2026 12:05:09 AM');
    expect(format(at('2026-01-02T12:00:00Z'))).toBe('1/2/2026 12:00:00 PM');
    expect(format(at('2026-01-02T23:59:59.999Z'))).toBe('1/2/2026 11:59:59 PM');
    expect(format(0)).toBe('1/1/1970 12:00:00 AM');
  });

  it('reads back as the same second', () => {
    process.env['TZ'] = 'America/New_York';
    const format = compileDateFormat('M/D/YYYY h:mm:ss A');
    fc.assert(
      fc.property(fc.integer({ min: at('1971-01-01'), max: at('2100-01-01') }), (ms) => {
        const offsetBefore = new Date(ms - 7_200_000).getTimezoneOffset();
        const offsetAfter = new Date(ms + 7_200_000).getTimezoneOffset();
        // Two moments of the night in which clocks are put back read the same.
        fc.pre(offsetBefore === offsetAfter);
        expect(new Date(format(ms) ?? '').getTime()).toBe(Math.floor(ms / 1000) * 1000);
      }),
    );
  });

  it('follows the clock changes of the zone', () => {
    process.env['TZ'] = 'Europe/Berlin';
    const format = compileDateFormat('YYYY-MM-DD HH:mm Z');
    expect(format(at('2026-03-29T00:59:00Z'))).toBe('2026-03-29 01:59 +01:00');
    expect(format(at('2026-03-29T01:00:00Z'))).toBe('2026-03-29 03:00 +02:00');
    expect(format(at('2026-10-25T00:30:00Z'))).toBe('2026-10-25 02:30 +02:00');
    expect(format(at('2026-10-25T01:30:00Z'))).toBe('2026-10-25 02:30 +01:00');
    process.env['TZ'] = 'Australia/Lord_Howe';
    expect(format(at('2026-01-01T00:00:00Z'))).toBe('2026-01-01 11:00 +11:00');
    expect(format(at('2026-07-01T00:00:00Z'))).toBe('2026-07-01 10:30 +10:30');
  });

  it('formats times before 1970 and years before Christ', () => {
    process.env['TZ'] = 'UTC';
    expect(compileDateFormat('M/D/YYYY h:mm:ss A')(-1)).toBe('12/31/1969 11:59:59 PM');
    expect(compileDateFormat('YYYY YY')(at('0005-06-01T00:00:00Z'))).toBe('0005 05');
    expect(compileDateFormat('YYYY-MM-DD')(at('-000044-03-15T00:00:00Z'))).toBe('-0044-03-15');
  });

  it('has no date for a time that no date can hold', () => {
    const format = compileDateFormat('YYYY');
    expect(format(8.64e15)).toBe('275760');
    expect(format(8.64e15 + 1)).toBeUndefined();
    expect(format(Number.NaN)).toBeUndefined();
    expect(format(Infinity)).toBeUndefined();
  });

  it('keeps an empty format empty', () => {
    expect(compileDateFormat('')(0)).toBe('');
  });
});
