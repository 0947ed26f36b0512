import type { Calls } from './calls.ts';
import type { FileBrowser } from './editor.ts';
import type { Notices } from './notices.ts';
import type { Sources } from './sources.ts';
import type { Texts } from './texts/texts.ts';
import { isSameLocation, type Location, type Trash, type TrashItem, UNDONE } from './trash.ts';

/** Milliseconds that a change can be taken back with one click. */
const STAYS = 10_000;

/** Items among which the old content is looked for; what others remove meanwhile has room. */
const LOOKED_THROUGH = 30;

/** What taking back does. */
const needed = ['TrashList', 'TrashRestore', 'FileRemove', 'FileUpload'] as const;

/** What the offer needs beside the file browser. */
export interface EditSurroundings {
  readonly calls: Pick<Calls, 'ask'>;
  readonly trash: Trash;
  readonly sources: Sources;
  readonly notices: Notices;
  readonly texts: Texts;
  /** Told of a picture that has its old content again. */
  readonly onBack: (location: Location) => void;
}

/** The newest item of a trash before something is done. */
interface Mark {
  readonly id: string | undefined;
}

/** What has come into the trash since. */
const since = async (trash: Trash, source: string, { id }: Mark): Promise<readonly TrashItem[]> => {
  const items = await trash.list({ source, limit: LOOKED_THROUGH });
  const known = items.findIndex((item) => item.id === id);
  return known === -1 ? items : items.slice(0, known);
};

const markOf = async ({ trash, sources }: EditSurroundings, source: string): Promise<Mark | undefined> => {
  // A picture of the text is edited before the file browser was ever open.
  await sources.learn(source);
  if (!needed.every((action) => sources.allows(action, source))) return undefined;
  const items = await trash.list({ source, limit: 1 }).catch(() => undefined);
  return items && { id: items[0]?.id };
};

/**
 * Puts the old content in the position of the new one, which goes to the trash. When the old one cannot come
 * back, the new one does.
 */
const bringBack = async ({ calls, trash }: EditSurroundings, old: TrashItem): Promise<Location> => {
  const { source, path, name } = old;
  const [newest] = await trash.list({ source, limit: 1 });
  await calls.ask({ action: 'fileRemove', source, path, name });
  try {
    return await trash.restore(old);
  } catch (error) {
    const items = await since(trash, source, { id: newest?.id });
    const removed = items.find((item) => !item.isReplaced && isSameLocation(item, old));
    if (removed !== undefined) await trash.restore(removed);
    throw error;
  }
};

/**
 * Changes the picture of a location, and offers to take that back where its old content was kept. `said` is
 * shown in any case, else only with the offer.
 */
export type WithUndo = <Result>(
  location: Location,
  change: () => Promise<Result>,
  said?: string,
) => Promise<Result>;

/**
 * Offers for ten seconds to take back what was done to a picture, where the source keeps what is replaced
 * (`trash.keepReplaced`).
 */
export const offerUndoOfEdits = (browser: FileBrowser, surroundings: EditSurroundings): WithUndo => {
  const { trash, notices, texts, onBack } = surroundings;
  const undo = async (old: TrashItem): Promise<void> => {
    try {
      await bringBack(surroundings, old);
      onBack(old);
      notices.show(texts.imageBack, 'success');
    } catch (error) {
      browser.status(error);
    }
    if (browser.isOpened) browser.e.fire('update.filebrowser');
    browser.e.fire(UNDONE);
  };
  const kept = async (location: Location, mark: Mark | undefined): Promise<TrashItem | undefined> => {
    if (mark === undefined) return undefined;
    // The picture is changed all the same when the trash cannot be asked.
    const items = await since(trash, location.source, mark).catch(() => []);
    return items.find((item) => item.isReplaced && isSameLocation(item, location));
  };
  const report = async (location: Location, mark: Mark | undefined, said?: string): Promise<void> => {
    const old = await kept(location, mark);
    if (old === undefined && said === undefined) return;
    const action = old && { label: texts.undo, run: () => void undo(old) };
    const milliseconds = old && STAYS;
    notices.show(said ?? texts.imageChanged, 'success', { milliseconds, action });
  };
  return async (location, change, said) => {
    const mark = await markOf(surroundings, location.source);
    const result = await change();
    void report(location, mark, said);
    return result;
  };
};

/** Makes a crop or a new size that is saved over the original one that can be taken back. */
export const takeBackEdits = ({ dataProvider }: FileBrowser, withUndo: WithUndo): void => {
  for (const edit of ['crop', 'resize'] as const) {
    const send = dataProvider[edit];
    dataProvider[edit] = (path, source, name, newName, ...rest) => {
      const change = (): Promise<boolean | string> => send(path, source, name, newName, ...rest);
      const isOver = newName === undefined || newName === '' || newName === name;
      return isOver ? withUndo({ source, path, name }, change) : change();
    };
  }
};
