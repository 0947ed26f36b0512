import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Measurement } from './measurement.ts';
import { rise } from './memory.ts';
import { withScratch } from './scratch.ts';
import { drain, withService } from './service.ts';

const FILES = 1_000_000;
/** MB above idle that the listing, and a page in the middle of it, may take. */
const ALLOWED = 120;

/** Creates files with names in random order, of several styles. */
const fill = (folder: string, extension: string): void => {
  mkdirSync(folder);
  for (let index = 0; index < FILES; index += 1) {
    const mixed = (index * 2_654_435_761) % 4_294_967_296;
    closeSync(openSync(join(folder, `document-${mixed.toString(36)}-${String(index)}.${extension}`), 'w'));
  }
};

/** The memory of a listing of a million files, and of a page in the middle of it, each in a new process. */
export const million: Measurement = {
  name: 'million',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      mkdirSync(root);
      fill(join(root, 'many'), 'txt');
      fill(join(root, 'pictures'), 'jpg');
      const peakOf = (what: string, query: string, folder = 'many') =>
        withService(scratch, root, (service) =>
          rise(
            service,
            what,
            async () => {
              await drain(`${service.url}/files?path=${folder}${query}`);
            },
            ALLOWED,
          ),
        );
      return [
        await peakOf('listing of a million files', ''),
        await peakOf('listing of a million pictures', '', 'pictures'),
        await peakOf('50 in the midst of a million, newest first', '&mods[offset]=500000&mods[limit]=50'),
      ];
    }),
};
