import type { IncomingMessage } from 'node:http';
import { HttpError, type ConnectorHooks, type Logger } from 'stowage';
import { expect, it } from 'vitest';
import { startService } from './service.ts';

const hooks: ConnectorHooks<IncomingMessage> = {
  // Typed by the host: no cast.
  checkAuthentication: ({ native }) => {
    const user = native.headers['x-user'];
    if (typeof user !== 'string') throw new HttpError(401, 'Who are you?');
    return { role: 'member', subject: user };
  },
  accessControl: (_request, { role, subject }) => [
    { role, path: '/', FILE_REMOVE: false },
    { role, path: `/${subject ?? ''}`, FILE_REMOVE: true },
  ],
};

it('a host names role and user once: the rules get both, and the log names the user', async () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const note = (_message: string, fields?: object): void => void lines.push({ ...fields });
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const service = await startService({}, hooks as ConnectorHooks, logger);
  await service.source('files').put({ 'ann/a.txt': 'a', 'bob/a.txt': 'b' });
  const remove = async (path: string): Promise<number> => {
    const url = `${service.url}/fileRemove?path=${path}&name=a.txt`;
    return (await fetch(url, { method: 'POST', headers: { 'x-user': 'ann' } })).status;
  };
  expect([await remove('bob'), await remove('ann')]).toEqual([403, 200]);
  expect(await service.source('files').paths()).toEqual(['ann/', 'bob/', 'bob/a.txt']);
  expect(lines).toContainEqual(
    expect.objectContaining({ action: 'fileRemove', role: 'member', subject: 'ann' }),
  );
});

it.each([[{ subject: 'ann' }], [{ role: 5 }], [{ role: 'a', subject: 5 }], [null], [['member']]])(
  'what is neither a role nor has one is a fault of the host: %j',
  async (result) => {
    const service = await startService({}, { checkAuthentication: () => result as unknown as string });
    expect((await service.get('files')).status).toBe(500);
  },
);
