import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files take longest: real servers, processes and browsers. */
const LONG = ['start', 'adapters', 'client', 'documents', 'security', 'protocol'];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONG.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
  return rank === -1 ? LONG.length : rank;
};

/** Begins with the long files, so that at the end no worker waits for one of them. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
