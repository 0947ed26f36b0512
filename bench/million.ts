import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Measurement, Row } from './measurement.ts';
import { rise } from './memory.ts';
import { withScratch } from './scratch.ts';
import { drain, processorTime, withService, type Service } from './service.ts';

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

/** Processor time of requests to a new process, with all that it loads for them. */
const costOf = async ({ url, pid }: Service, what: string, requests: readonly string[]): Promise<Row> => {
  const before = await processorTime(pid);
  for (const request of requests) await drain(`${url}/${request}`);
  return { what: `${what}, processor time`, unit: 'ms', ours: (await processorTime(pid)) - before };
};

/** Times and memory for folders of a million files, each in a new process. */
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
        // The listings have created a folder of thumbnails in it: without subfolders its names are not read.
        await withService(scratch, root, (service) =>
          costOf(service, 'folderMove of a million files one level deeper', [
            'folderCreate?name=deeper',
            'folderMove?path=deeper&from=many',
          ]),
        ),
        // The first copy waits for the count.
        await withService(
          scratch,
          join(root, 'pictures'),
          (service) =>
            costOf(service, 'count of a million files for a quota', [
              'folderCreate?name=new',
              'fileCopy?path=new&from=document-0-0.jpg',
            ]),
          { quota: { bytes: '1000gb' } },
        ),
      ];
    }),
};
