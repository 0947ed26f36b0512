import { ChangedMeanwhileError } from '../../../errors/errors.ts';
import type { ObjectFacts } from '../core/objects.ts';

/** An object as the JSON interface describes it, as far as it was asked for. */
export interface Resource {
  readonly name: string;
  readonly size?: string;
  readonly timeCreated?: string;
  readonly generation?: string;
  readonly storageClass?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A page of a listing. */
export interface ListAnswer {
  readonly kind?: string;
  readonly items?: readonly Resource[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

/** The validator of a content: its generation, which the service never gives twice. */
export const versionOf = (generation: string | undefined): string | undefined =>
  generation === undefined ? undefined : `"${generation}"`;

/** The generation of a validator. @throws ChangedMeanwhileError for one that this store has never given */
export const generationOf = (etag: string): string => {
  const generation = /^"(\d{1,19})"$/u.exec(etag)?.[1];
  if (generation === undefined) throw new ChangedMeanwhileError();
  return generation;
};

const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

/** What an answer or a listing says of an object. */
export const factsOf = ({ size, timeCreated, generation, storageClass }: Resource): ObjectFacts => ({
  size: size === undefined ? undefined : Number(size),
  modifiedAt: timeOf(timeCreated),
  etag: versionOf(generation),
  storageClass,
});
