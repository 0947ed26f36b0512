import { Readable } from 'node:stream';
import { type SourcePath, type StorageAdapter } from 'stowage/storage';

/** How a store loses something, and what a run must say of it. */
interface Loss {
  readonly wrap: (adapter: StorageAdapter) => StorageAdapter;
  readonly says: RegExp;
  /** More operations are needed where few of the losses are left at the end. */
  readonly operations?: number;
}

/** A store some of whose operations do something else. */
const changed =
  (change: (adapter: StorageAdapter) => Partial<StorageAdapter>): Loss['wrap'] =>
  (adapter) => {
    const changes = change(adapter);
    return new Proxy(adapter, {
      get: (target, name) => {
        // Content then passes through `write` alone.
        if (name === 'stage') return undefined;
        if (name in changes) return Reflect.get(changes, name) as unknown;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };

/** True for every second time. */
const everySecond = (): (() => boolean) => {
  let count = 0;
  return () => (count += 1) % 2 === 0;
};

const isInTrash = ({ segments: [first, , third] }: SourcePath): boolean =>
  first === '.stowage-trash' && third === 'item';

const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

/** `moveFile`, after which something happens to what has come. */
const afterMoves = (
  isMeant: (from: SourcePath, to: SourcePath) => boolean,
  happens: (adapter: StorageAdapter, from: SourcePath, to: SourcePath) => Promise<unknown>,
): Loss['wrap'] =>
  changed((adapter) => ({
    moveFile: async (from, to, options) => {
      await adapter.moveFile(from, to, options);
      if (isMeant(from, to)) await happens(adapter, from, to);
    },
  }));

/** Losses that no answer tells of: a run that does not report each of them proves nothing. */
export const losses: Readonly<Record<string, Loss>> = {
  'a file that does not arrive where it was moved': {
    wrap: afterMoves(
      (from, to) => !isInTrash(from) && !isInTrash(to),
      (adapter, _from, to) => adapter.removeFile(to),
    ),
    says: /is lost/u,
  },
  'a removed file that the trash does not have': {
    wrap: afterMoves(
      (_from, to) => isInTrash(to),
      (adapter, _from, to) => adapter.removeFile(to),
    ),
    says: /is lost/u,
  },
  'a removed file whose content is cut in the trash': {
    wrap: afterMoves(
      (_from, to) => isInTrash(to),
      (adapter, _from, to) => adapter.write(to, contentOf('t1|')),
    ),
    says: /content is not one that was written/u,
  },
  'a file that is gone when it comes back from the trash': {
    wrap: afterMoves(isInTrash, (adapter, _from, to) => adapter.removeFile(to)),
    says: /is lost/u,
  },
  'a moved file that stays where it was too': {
    wrap: afterMoves(
      (from, to) => !isInTrash(from) && !isInTrash(to),
      (adapter, from, to) => adapter.copyFile(to, from),
    ),
    says: /is there \d+ times/u,
    operations: 900,
  },
  'words that do not come where their file is': {
    wrap: changed((adapter) => {
      const isDue = everySecond();
      return {
        write: async (path, content, options) => {
          const stat = await adapter.write(path, content, options);
          if (path.segments.includes('.stowage-about') && isDue()) await adapter.removeFile(path);
          return stat;
        },
      };
    }),
    says: /words \d+ are lost/u,
  },
  'a content that is torn': {
    wrap: changed((adapter) => {
      const isDue = everySecond();
      return {
        write: async (path, content, options) => {
          const stat = await adapter.write(path, content, options);
          return isDue() ? adapter.write(path, contentOf('t1|1|60|')) : stat;
        },
      };
    }),
    says: /content is not one that was written/u,
  },
};
