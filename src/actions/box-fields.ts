import { z } from 'zod';

// As JSON and JavaScript write numbers. Small ones come with an exponent (`1e-7`), large ones mean nothing here.
const DECIMAL = /^-?\d+(?:\.\d+)?(?:e-\d+)?$/iu;
const MISSING = 'must be a number';

/** A number, or text that is one: no hexadecimal, no infinity, no blanks. */
const numberField = z
  .union([z.number(), z.string().regex(DECIMAL, MISSING).transform(Number)], { error: MISSING })
  .refine(Number.isFinite, MISSING);

/** A size in whole pixels. */
export const wholeSizeField = numberField
  .refine((value) => value > 0, 'must be greater than zero')
  .refine(
    (value) => !Number.isFinite(value) || Number.isSafeInteger(value),
    'must be a whole number of pixels',
  )
  .meta({ sent: { type: 'integer', minimum: 1 } });

/** A size that a client computed: decimals are fine. */
export const sizeField = numberField
  .refine((value) => value > 0, 'must be greater than zero')
  .meta({ sent: { type: 'number', exclusiveMinimum: 0 } });

/** A place that a client computed; what rounds to zero is zero. */
export const offsetField = numberField
  .refine((value) => value > -0.5, 'must not be negative')
  .transform((value) => Math.max(0, value))
  .meta({ sent: { type: 'number', minimum: 0 } });
