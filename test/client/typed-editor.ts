/**
 * How `stowage/jodit` and the types of Jodit go together. Nothing here runs: `npm run check:code` is the
 * test.
 */
import type { Jodit as Editor } from 'jodit';
import type * as stowage from 'stowage/jodit';

export const typed = (Jodit: typeof Editor, { browseFiles, connectJodit, joditConfig }: typeof stowage) => {
  const editor: Editor = connectJodit(Jodit, '#editor', { url: '/connector' }, { minHeight: 400 });
  const events = { blur: (): number => 1 };
  const config = joditConfig({ url: '/connector', headers: async () => ({ a: 'b' }) }, { events });
  // @ts-expect-error: the URL is missing
  connectJodit(Jodit, '#editor', {});
  // @ts-expect-error: not an option of Jodit
  connectJodit(Jodit, '#editor', { url: '/connector' }, { minHeigth: 400 });
  return [Jodit.make('#other', config), Jodit.make('#third', joditConfig({ url: '/' })), browseFiles(editor)];
};
