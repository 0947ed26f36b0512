import type { Change, Done, Passage, Stage, Stored, Transfer } from './change.ts';

const followTransfer = async (
  { services: { thumbnails: all } }: Passage,
  { type, from: { source: old }, open: { source }, item: { path: from, stat } }: Transfer,
  { path }: Done,
): Promise<void> => {
  if (old === source) {
    await all[type === 'copy' ? 'copied' : 'moved']({ source, path: from, stat }, { source, path });
    return;
  }
  // Those of what is inside a folder are made anew there, and removed here with their originals.
  if (stat.kind === 'folder') return;
  if (type !== 'copy') await all.removed({ source: old, path: from });
  await all.changed({ source, path });
};

const followStored = async (
  { services: { thumbnails: all } }: Passage,
  { open: { source } }: Extract<Change, { type: 'create' | 'replace' | 'edit' }>,
  { path, stat, replaced, thumbnail }: Stored,
): Promise<void> => {
  if (replaced) await all.changed({ source, path });
  if (thumbnail !== undefined) await all.keep({ source, path, stat }, thumbnail);
};

const follow = async (passage: Passage, change: Change, done: Done): Promise<void> => {
  const { thumbnails: all } = passage.services;
  const { path } = done;
  if (change.type === 'remove') await all.removed({ source: change.open.source, path });
  if (change.type === 'restore') await all.changed({ source: change.open.source, path });
  if ('item' in change) await followTransfer(passage, change, done);
  if (change.type === 'create' || change.type === 'replace' || change.type === 'edit')
    await followStored(passage, change, done as Stored);
};

/**
 * Lets thumbnails, variants and icons follow what has happened; of what is inside a moved folder they travel
 * inside. Their failures are logged and never reach the client.
 */
export const thumbnails: Stage = async (passage, change, next) => {
  try {
    return await next(change);
  } finally {
    for (const done of passage.done) await follow(passage, change, done);
  }
};
