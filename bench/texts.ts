import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from 'parse5';
import { createRouter } from 'stowage';
import { interleaved, type Measurement } from './measurement.ts';
import { withScratch } from './scratch.ts';

const ROUNDS = 200;
const PICTURES = 20;
const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Only the parser, with the options that the search for links needs. */
const parse = (html: string): void => {
  const handler = {
    onStartTag: nothing,
    onEndTag: nothing,
    onComment: nothing,
    onDoctype: nothing,
    onEof: nothing,
    onCharacter: nothing,
    onNullCharacter: nothing,
    onWhitespaceCharacter: nothing,
  };
  new Tokenizer({ sourceCodeLocationInfo: true }, handler).write(html, true);
};

/** `renewLinks` for a document of 20 pictures with signed links, compared with its parser. */
export const texts: Measurement = {
  name: 'texts',
  run: () =>
    withScratch(async (root) => {
      await writeFile(join(root, 'cat.png'), '');
      const source = { title: 'Photos', root, serve: 'signed' as const };
      const config = {
        signingSecret: 'a secret of at least 32 bytes, for this',
        sources: { photos: source },
      };
      const router = createRouter(config, {}, { logger });
      const link = (index: number): string => router.urlFor('photos', `trip/${String(index)}.png`);
      const html = Array.from(
        { length: PICTURES },
        (_, index) => `<p>${'Some words of a text. '.repeat(20)}</p><img src="${link(index)}" alt="">`,
      ).join('\n');
      try {
        const [parsing = 0, renewing = 0] = await interleaved(ROUNDS, [
          () => Promise.resolve(parse(html)),
          () => router.renewLinks(html),
        ]);
        return [
          {
            what: '`renewLinks` of 20 pictures, beside parsing',
            unit: 'ms',
            ours: renewing - parsing,
            reference: { name: '1 ms', value: 1 },
            aim: { atMost: 1 },
          },
        ];
      } finally {
        await router.close();
      }
    }),
};
