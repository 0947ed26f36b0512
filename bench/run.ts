import { availableParallelism } from 'node:os';
import { download } from './download.ts';
import { listing } from './listing.ts';
import type { Measurement, Row } from './measurement.ts';
import { memory } from './memory.ts';
import { million } from './million.ts';
import { onDemand } from './on-demand.ts';
import { parts } from './parts.ts';
import { permissions } from './permissions.ts';
import { picker } from './picker.ts';
import { pictures } from './pictures.ts';
import { s3Memory } from './s3-memory.ts';
import { serving } from './serving.ts';
import { smallFiles } from './small-files.ts';
import { stalls } from './stalls.ts';
import { startUp } from './start-up.ts';
import { formatTable } from './table.ts';
import { texts } from './texts.ts';
import { thumbnails } from './thumbnails.ts';
import { upload } from './upload.ts';
import { webdavMemory } from './webdav-memory.ts';
import { zip } from './zip.ts';

/** In the order of the table. `npm run bench -- listing start-up` runs only those. */
const measurements: readonly Measurement[] = [
  startUp,
  permissions,
  listing,
  stalls,
  thumbnails,
  onDemand,
  pictures,
  picker,
  upload,
  smallFiles,
  parts,
  download,
  serving,
  memory,
  million,
  webdavMemory,
  s3Memory,
  zip,
  texts,
];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !measurements.some((measurement) => measurement.name === name));
if (unknown.length > 0) {
  console.error(
    `No measurement is named ${unknown.join(', ')}. There are ${measurements.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(1);
}

const rows: Row[] = [];
for (const { name, run } of measurements) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  rows.push(...(await run()));
}
console.log(
  `\nNode ${process.version}, ${String(availableParallelism())} cores, medians of warm runs, in one go.\n`,
);
console.log(formatTable(rows));
