import { createApp } from 'stowage';
import { describe, expect, it } from 'vitest';
import { createLineLogger } from '../../dist/log/logger.js';

const circular: Record<string, unknown> = { why: 'no database' };
circular['self'] = circular;

const endless = new Error('no database');
endless.cause = endless;

/** What programs throw besides plain errors. None of it is JSON. */
const thrown: readonly (readonly [what: string, value: unknown])[] = [
  ['an object that holds itself', circular],
  ['an error that is its own cause', endless],
  ['an error whose cause holds itself', new Error('no database', { cause: circular })],
  ['an object with a large integer', { why: 'no database', rows: 10n }],
  ['an object without a prototype', Object.assign(Object.create(null) as object, { why: 'no database' })],
  ['a symbol', Symbol('no database')],
  ['a text', 'no database'],
];

describe('whatever a hook throws', () => {
  it.each(thrown)('is answered with 500 and told to the log: %s', async (_what, value) => {
    for (const debug of [true, false]) {
      const lines: string[] = [];
      const hooks = {
        checkAuthentication: () => {
          throw value;
        },
      };
      const app = createApp({ sources: {}, debug }, hooks, {
        logger: createLineLogger((line) => lines.push(line)),
      });
      try {
        const answer = await app.fetch(new Request('http://localhost/files'));
        expect(answer.status).toBe(500);
        expect(await answer.text()).not.toContain('database');
        expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
          { level: 'error', status: 500 },
        ]);
        expect(lines[0]).toContain('no database');
      } finally {
        await app.close();
      }
    }
  });
});
