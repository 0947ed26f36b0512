import { inspect } from 'node:util';
import { createApp, createRouter, ConfigError, type AccessRule, type ConnectorHooks } from 'stowage';
import { describe, expect, it } from 'vitest';
import { createSilentLogger } from '#internals';

const logger = createSilentLogger();

/** As code without types may hand them over. */
const problemsOf = async (hooks: unknown): Promise<readonly string[]> => {
  try {
    await createApp({ sources: {} }, hooks as ConnectorHooks, { logger }).close();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

describe('hooks', () => {
  it('with unknown names stop the start', async () => {
    expect(await problemsOf({ check_authentication: () => 'editor', acessControl: () => [] })).toEqual([
      'hooks.check_authentication: is not a known key; did you mean "checkAuthentication"?',
      'hooks.acessControl: is not a known key; did you mean "accessControl"?',
    ]);
    expect(() =>
      createRouter({ sources: {} }, { onRequest: () => null } as ConnectorHooks, { logger }),
    ).toThrow('hooks.onRequest: is not a known key');
  });

  it('that are not functions stop the start', async () => {
    expect(await problemsOf({ checkAuthentication: 'editor', resolveSources: null })).toEqual([
      'hooks.checkAuthentication: must be a function, not the text "editor"',
      'hooks.resolveSources: must be a function, not null',
    ]);
  });

  it('that come as a function or a list stop the start, since they would guard nothing', async () => {
    const wanted = 'hooks: must be an object of functions by their names';
    expect(await problemsOf(() => 'editor')).toEqual([`${wanted}, not a function`]);
    expect(await problemsOf([() => 'editor'])).toEqual([`${wanted}, not a list`]);
    expect(await problemsOf(null)).toEqual([`${wanted}, not null`]);
  });

  it('may be left undefined', async () => {
    expect(await problemsOf({ checkAuthentication: undefined, svgGenerator: undefined })).toEqual([]);
  });
});

describe('options', () => {
  it('that have no effect stop the start', () => {
    const options = { logger, basepath: '/api/files', loger: logger } as object;
    expect(() => createRouter({ sources: {} }, {}, options)).toThrow(
      'options.basepath: is not a known key; did you mean "basePath"?\n  - options.loger: is not a known key; did you mean "logger"?',
    );
    const given = { hooks: {}, basePath: '/api', title: undefined };
    expect(() => createApp({ sources: {} }, {}, given as object)).toThrow(
      /options\.hooks: is not a known key; .+\n {2}- options\.basePath: is not a known key; known keys: logger, /u,
    );
  });
});

describe('a logger', () => {
  it('that lacks a method stops the start, as the one of Nest does', () => {
    const nest = { log() {}, error() {}, warn() {}, debug() {}, verbose() {} } as unknown as typeof logger;
    expect(() => createRouter({ sources: {} }, {}, { logger: nest })).toThrow(
      'options.logger: lacks the method info',
    );
  });
});

describe('checkAuthentication', () => {
  it.each(['', ' ', { role: '' }, { role: 'member', subject: 5 }, undefined])(
    'rejects a request whose role is not a name: %j',
    async (given) => {
      const sources = { files: { title: 'Files', baseurl: 'https://files.test/', storageAdapter: 'memory' } };
      const hooks = { checkAuthentication: () => given } as ConnectorHooks;
      const router = createRouter({ sources }, hooks, { logger });
      expect((await router.fetch(new Request('http://a/files'))).status).toBe(500);
      await router.close();
    },
  );
});

describe('accessControl', () => {
  const sources = {
    files: { title: 'Files', baseurl: 'https://files.test/', storageAdapter: 'memory' },
  };

  it('counts as it is at every request, also when the host changes the list that it returns', async () => {
    const rules: AccessRule[] = [];
    const router = createRouter({ sources }, { accessControl: () => rules }, { logger });
    const list = async (): Promise<number> => (await router.fetch(new Request('http://a/files'))).status;
    expect(await list()).toBe(200);
    rules.push({ FILES: false });
    expect(await list()).toBe(403);
    rules.pop();
    expect(await list()).toBe(200);
    await router.close();
  });

  it('is refused where a key of an action has no value: that would allow', async () => {
    const told: unknown[] = [];
    for (const value of [undefined, null]) {
      const rules = [{ FILE_REMOVE: false }, { FILE_REMOVE: value }] as unknown as AccessRule[];
      const error = (_message: string, fields?: object): void => void told.push(fields);
      const router = createRouter(
        { sources },
        { accessControl: () => rules },
        { logger: { ...logger, error } },
      );
      expect((await router.fetch(new Request('http://a/files'))).status).toBe(500);
      await router.close();
    }
    expect(inspect(told, { depth: 5 })).toMatch(
      /accessControl\.1\.FILE_REMOVE: must be true or false, not undefined/u,
    );
    expect(inspect(told, { depth: 5 })).toMatch(
      /accessControl\.1\.FILE_REMOVE: must be true or false, not null/u,
    );
  });

  it('is refused where it is for an undefined folder, role or type: that would be for all of them', async () => {
    let rules: unknown;
    const router = createRouter({ sources }, { accessControl: () => rules as AccessRule[] }, { logger });
    const status = async (narrowed: object): Promise<number> => {
      rules = [{ FILES: false }, { ...narrowed, FILES: true }];
      return (await router.fetch(new Request('http://a/files'))).status;
    };
    for (const key of ['path', 'role', 'extensions']) expect(await status({ [key]: undefined })).toBe(500);
    // As a database has what a rule says nothing about.
    expect(await status({ path: null, role: null, extensions: null })).toBe(200);
    await router.close();
  });

  it('has a line in the log for every key that no action has, once', async () => {
    const told: string[] = [];
    const warn = (message: string): void => void told.push(message);
    const router = createRouter(
      { sources },
      { accessControl: () => [{ CHANGES: false }, { FILES: true }, { FOLDER_TREE: false }] },
      { logger: { ...logger, warn } },
    );
    for (let times = 0; times < 2; times += 1) await router.fetch(new Request('http://a/files'));
    expect(told.filter((line) => line.startsWith('accessControl'))).toEqual([
      'accessControl: no action has the key CHANGES; did you mean "CHANGE"?',
    ]);
    await router.close();
  });
});
