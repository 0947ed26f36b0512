import type { Readable } from 'node:stream';
import { AlreadyExistsError, ChangedMeanwhileError } from '../../errors/errors.ts';
import type { Condition } from './bucket.ts';
import { writtenVersion, type Support } from './conditional-writes.ts';
import type { PartReader } from './part-reader.ts';

/** What is to be stored. */
export interface Upload {
  readonly key: string;
  readonly createOnly: boolean;
  readonly ifMatch: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly size: number | undefined;
  /** Gives the content once more, where that is possible. */
  readonly open?: (() => Readable) | undefined;
}

/** What has been stored. */
export interface Uploaded {
  readonly size: number;
  readonly etag: string | undefined;
}

/** A content on its way, and what its service decides by itself. */
export interface Task extends Upload {
  readonly support: Support;
  readonly reader: PartReader;
}

/** What the service is to decide a write by. */
export const conditionOf = ({ createOnly, ifMatch, support }: Task): Condition => ({
  ...(createOnly && support.create ? { IfNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { IfMatch: writtenVersion(ifMatch, support) }),
});

/** What a refusal by the service means. */
export const refused = (task: Upload, cause: unknown): Error =>
  task.createOnly && task.ifMatch === undefined
    ? new AlreadyExistsError({ cause })
    : new ChangedMeanwhileError({ cause });
