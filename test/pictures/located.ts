import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sharp } from 'sharp';
import { atEndOfFile } from '../end-of-file.ts';

/** Whether Debian's libimage-exiftool-perl is there: it reads pictures independently of us. */
export const hasExiftool = ((): boolean => {
  try {
    execFileSync('exiftool', ['-ver']);
    return true;
  } catch {
    return false;
  }
})();

/** What exiftool answers to a list of arguments. Starting it takes longer than most of its answers: it waits for the next. */
const startExiftool = (): ((args: readonly string[]) => Promise<string>) => {
  const child = spawn('exiftool', ['-stay_open', 'True', '-@', '-'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const chunks = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  atEndOfFile(async () => {
    asked = undefined;
    child.stdin.end('-stay_open\nFalse\n');
    await once(child, 'exit');
  });
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (args: readonly string[]): Promise<string> => {
    child.stdin.write(`${args.join('\n')}\n-execute\n`);
    let text = '';
    while (!text.endsWith('{ready}\n')) {
      const { value, done } = await chunks.next();
      if (done === true) throw new Error('exiftool has ended');
      text += value;
    }
    return text.slice(0, -'{ready}\n'.length);
  };
  return (args) => {
    const answer = last.then(() => ask(args));
    last = answer.catch(() => undefined);
    return answer;
  };
};

let asked: ReturnType<typeof startExiftool> | undefined;

/** All that is known of a picture, one `[Group] Name : value` a line. @throws where exiftool does not know the format */
export const exiftool = async (file: Uint8Array, extension: string): Promise<readonly string[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-exif-'));
  try {
    const path = join(folder, `a.${extension}`);
    writeFileSync(path, file);
    asked ??= startExiftool();
    // Not the name of the folder, which may hold what a test looks for.
    const answer = await asked(['-a', '-G', '-ee', '-s', '--Directory', '--FileName', path]);
    const lines = answer.split('\n').map((line) => line.replaceAll(/\s+/gu, ' ').trim());
    if (!lines.some((line) => line.startsWith('[File] FileType :')))
      throw new Error(`exiftool cannot read a.${extension}: ${answer}`);
    return lines.filter((line) => line !== '');
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** An XMP packet with an author and a position, in every form that properties have. */
export const LOCATED_XMP = `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 exif:GPSLatitude="51,30.5N" exif:GPSLongitude = '0,7.25W' xmlns:d="http://www.dji.com/drone-dji/1.0/" d:GpsLatitude="51.5">
<!-- exif:GPSLatitude --><dc:creator><rdf:Seq><rdf:li>Ada Ö</rdf:li></rdf:Seq></dc:creator>
<exif:GPSMapDatum>WGS-84</exif:GPSMapDatum><exif:GPSAltitude rdf:datatype="a>b"/>
<exif:GPSDestLatitude><exif:GPSDestLatitude>1</exif:GPSDestLatitude></exif:GPSDestLatitude>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`;

/** The picture with an author, a comment and a position in its EXIF and XMP data. */
export const located = (picture: Sharp): Sharp =>
  picture.withXmp(LOCATED_XMP).withExif({
    IFD0: { Copyright: 'Ada', Artist: 'Bob' },
    IFD2: { UserComment: 'hello' },
    IFD3: {
      GPSLatitudeRef: 'N',
      GPSLatitude: '51/1 30/1 0/1',
      GPSLongitudeRef: 'W',
      GPSLongitude: '0/1 7/1 0/1',
    },
  });
