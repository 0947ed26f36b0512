import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Seconds that a file of these folders takes, about, and those that take far longer than the others of their folder. What is named
 * nowhere is short.
 */
const SECONDS: Readonly<Record<string, number>> = {
  start: 160,
  model: 14,
  'model/model': 30,
  'adapters/s3': 50,
  'adapters/webdav-': 50,
  'adapters/sftp-': 40,
  'adapters/ftp-': 40,
  'adapters/local.': 40,
  'documents/pdf-browser': 60,
  'package/pack': 15,
  'package/types': 30,
  'robustness/trash-kill': 20,
  'security/confinement': 25,
  'security/denied-everywhere': 30,
  'security/growing-inputs': 40,
  'security/picture-location-kinds': 40,
  adapters: 18,
  robustness: 10,
  documents: 10,
  'http/bodies': 18,
  'http/slow-clients': 18,
  'protocol/listing-stores': 20,
  'protocol/files-search': 10,
  cli: 8,
  security: 7,
  pictures: 5,
  protocol: 5,
  serving: 5,
};

/** Each file of this one has a browser of its own, and the other workers have something else to do meanwhile. */
const BROWSERS = '/test/client/';

const secondsOf = ({ moduleId }: TestSpecification): number => {
  const path = relative(import.meta.dirname, moduleId);
  return Math.max(0, ...Object.keys(SECONDS).map((key) => (path.startsWith(key) ? (SECONDS[key] ?? 0) : 0)));
};

/** Of how many files one has a browser: as many as there are workers. */
const EVERY = 3;

/** Which share a process with the file before, if that does: they come last, one behind the other. */
const isTogether = ({ project }: TestSpecification): boolean => !project.config.isolate;

/**
 * Begins with the long files, so that at the end no worker waits for one of them. Of those with a browser only one runs at a time.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).toSorted(
      (one, other) =>
        Number(isTogether(one)) - Number(isTogether(other)) || secondsOf(other) - secondsOf(one),
    );
    const browsers = sorted.filter(({ moduleId }) => moduleId.includes(BROWSERS));
    const others = sorted.filter((file) => !browsers.includes(file));
    const each = EVERY - 1;
    return [
      ...browsers.flatMap((file, index) => [file, ...others.slice(each * index, each * (index + 1))]),
      ...others.slice(each * browsers.length),
    ];
  }
}
