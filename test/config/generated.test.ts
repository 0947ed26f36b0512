import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { errorTable, settingsShape } from '#internals';

const root = new URL('../../', import.meta.url);
const read = (name: string): Promise<string> => readFile(new URL(name, root), 'utf8');

describe('generated files', () => {
  it('name every setting in the reference page and in the schema', async () => {
    const page = await read('docs/configuration.md');
    const schema = await read('packages/stowage/config.schema.json');
    for (const key of Object.keys(settingsShape)) {
      expect(page).toContain(`| \`${key}\` |`);
      expect(schema).toContain(`"#/definitions/settings/properties/${key}"`);
    }
  });

  it('name every error', async () => {
    const page = await read('docs/errors.md');
    for (const [code, { status, message }] of Object.entries(errorTable)) {
      expect(page).toContain(`| \`${code}\` | ${String(status)} | ${message} |`);
    }
  });
});
