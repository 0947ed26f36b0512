// A process that works on a local store until it is killed: writes, replaces, copies and removes, ten things at once.
// Every file tells its own length and checksum, so that a part of one can be told from a whole one.
// Usage: node local-victim.mjs ROOT
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSilentLogger, openLocalAdapter } from '#internals';
import { SourcePath } from 'stowage/storage';

const adapter = await openLocalAdapter({ root: process.argv[2], log: createSilentLogger() });
const at = (text) => SourcePath.parse(text);

const selfTelling = () => {
  const body = randomBytes(50_000 + Math.floor(Math.random() * 100_000));
  const header = `${body.length} ${createHash('sha256').update(body).digest('hex')}\n`;
  return Buffer.concat([Buffer.from(header), body]);
};

/** Delivered in pieces, with pauses in which a kill finds the file half-written. */
async function* inPieces(bytes) {
  for (let from = 0; from < bytes.length; from += 16_384) {
    yield bytes.subarray(from, from + 16_384);
    await sleep(0);
  }
}

const write = (path, options) =>
  adapter.write(at(path), Readable.from(inPieces(selfTelling()), { objectMode: false }), options);

const work = async (worker) => {
  for (let round = 0; ; round += 1) {
    const folder = `run-${process.pid}-${worker}`;
    await write(`${folder}/new-${round}.bin`, { createOnly: true });
    await write(`${folder}/replaced.bin`);
    await write('shared.bin');
    await adapter.copyFile(at(`${folder}/replaced.bin`), at(`${folder}/copy-${round}.bin`));
    await adapter.moveFile(at(`${folder}/copy-${round}.bin`), at(`${folder}/moved-${round}.bin`), {
      createOnly: true,
    });
    if (round % 3 === 2) {
      await adapter.copyFolder(at(folder), at(`${folder}-copy`));
      await adapter.removeFolder(at(`${folder}-copy`));
    }
    if (round % 5 === 4) await adapter.removeFolder(at(folder));
  }
};

process.stdout.write('ready\n');
await Promise.all(Array.from({ length: 10 }, (_, worker) => work(worker)));
