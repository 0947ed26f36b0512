import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files take longest: real servers, processes and browsers. */
const LONG = ['start', 'adapters', 'documents', 'security', 'protocol'];

/** Each file of this one has a browser of its own, and two workers have something else to do meanwhile. */
const BROWSERS = '/test/client/';

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONG.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
  return rank === -1 ? LONG.length : rank;
};

/**
 * Begins with the long files, so that at the end no worker waits for one of them. Those with a browser are every third, as many as
 * there are workers.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
    const browsers = sorted.filter(({ moduleId }) => moduleId.includes(BROWSERS));
    const others = sorted.filter((file) => !browsers.includes(file));
    return [
      ...browsers.flatMap((file, index) => [file, ...others.slice(2 * index, 2 * index + 2)]),
      ...others.slice(2 * browsers.length),
    ];
  }
}
