import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'puppeteer-core';
import { expect } from 'vitest';
import { eventually } from '../client/client.ts';
import { jpeg } from '../client/pictures.ts';
import type { RunningProgram } from './packed-project.ts';
import { Visitor } from './visitor.ts';

/**
 * What whoever follows a page of the documents does: log in, upload a picture in the file browser, insert it.
 * Where it says so a second person finds it.
 */
export const seeFirstPicture = async (
  browser: Browser,
  program: RunningProgram,
  options: { readonly hasLogin: boolean; readonly isFoundByAnother?: boolean },
): Promise<void> => {
  const picture = join(program.folder, 'holiday.jpg');
  await writeFile(picture, await jpeg(640, 480));
  const enter = async (user: string): Promise<Visitor> => {
    const visitor = await Visitor.open(browser, program.url);
    if (options.hasLogin) await visitor.logIn(user);
    await visitor.openFiles();
    return visitor;
  };

  const ann = await enter('ann');
  await ann.picker.upload(picture);
  await eventually(() => ann.seen()).toEqual(['holiday.jpg']);
  await ann.insert('holiday.jpg');
  await eventually(() => ann.picturesInText()).toMatchObject([{ name: 'holiday.jpg' }]);
  const [shown] = await ann.picturesInText();
  expect([shown?.width, shown?.height]).toEqual([640, 480]);
  await ann.leave();

  if (options.isFoundByAnother === true) {
    const bob = await enter('bob');
    await eventually(() => bob.seen()).toEqual(['holiday.jpg']);
    await bob.leave();
  }

  // Readers of the document need no login.
  const file = await fetch(shown?.url ?? '');
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
};
