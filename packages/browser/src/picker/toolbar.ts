import { h, iconButton, roveFocus } from './dom.ts';
import { type Sorting, sortings } from './listing.ts';
import type { View } from './rows.ts';
import type { Entry, Rights } from './service.ts';
import type { Texts } from './texts.ts';

/** Operations on selected entries, in the order of menus. */
export const DEEDS_FOR_ENTRIES = [
  ...(['edit', 'turnLeft', 'turnRight', 'rename', 'move', 'copy'] as const),
  ...(['download', 'replace', 'details', 'remove'] as const),
];

/** An operation that a button, a key or a menu triggers. */
export type Deed = 'upload' | 'newFolder' | 'paste' | 'trash' | (typeof DEEDS_FOR_ENTRIES)[number];

/** Selection and permissions. */
interface Offer {
  readonly chosen: readonly Entry[];
  /** Permissions for the selected entries. */
  readonly may: Rights['permissions'];
  /** Permissions in the open folder. */
  readonly mayHere: Rights['permissions'];
}

const isOne = ({ chosen }: Offer): boolean => chosen.length === 1;

const isPicture = ({ chosen }: Offer): boolean =>
  chosen.length === 1 && chosen[0]?.width !== undefined && chosen[0].url !== undefined;

const mayAll = ({ chosen }: Offer, file: boolean | undefined, folder: boolean | undefined): boolean =>
  chosen.length > 0 && chosen.every(({ type }) => (type === 'folder' ? folder : file) === true);

const offers: Readonly<Record<Deed, (offer: Offer) => boolean | undefined>> = {
  upload: ({ mayHere }) => mayHere.allowFileUpload,
  newFolder: ({ mayHere }) => mayHere.allowFolderCreate,
  paste: ({ mayHere }) => mayHere.allowFileMove || mayHere.allowFileCopy,
  trash: ({ mayHere }) => mayHere.allowTrashList,
  edit: (offer) => isPicture(offer) && (offer.may.allowImageCrop || offer.may.allowImageResize),
  turnLeft: (offer) => isPicture(offer) && offer.may.allowImageRotate,
  turnRight: (offer) => isPicture(offer) && offer.may.allowImageRotate,
  rename: (offer) => isOne(offer) && mayAll(offer, offer.may.allowFileRename, offer.may.allowFolderRename),
  move: (offer) => mayAll(offer, offer.may.allowFileMove, offer.may.allowFolderMove),
  copy: (offer) => mayAll(offer, offer.may.allowFileCopy, offer.may.allowFolderCopy),
  download: (offer) => mayAll(offer, offer.may.allowFileDownload, offer.may.allowFileDownload),
  replace: ({ chosen: [first, another], may }) =>
    another === undefined &&
    first !== undefined &&
    first.type !== 'folder' &&
    may.allowFileReplace &&
    may.allowFileUpload &&
    may.allowFileRemove,
  details: isOne,
  remove: (offer) => mayAll(offer, offer.may.allowFileRemove, offer.may.allowFolderRemove),
};

/** Whether an operation is available: `permissions` must allow it. */
export const isOffered = (
  deed: Deed,
  chosen: readonly Entry[],
  rights: Rights,
  rightsHere: Rights,
): boolean => offers[deed]({ chosen, may: rights.permissions, mayHere: rightsHere.permissions }) === true;

export interface ToolbarEvents {
  readonly asked: (deed: Deed) => void;
  readonly sorted: (sortBy: Sorting) => void;
  readonly viewed: (view: View) => void;
  /** Called when the focused button has been removed. */
  readonly focusLost: () => void;
}

/** The buttons above the list. Unavailable ones are hidden. */
export class Toolbar {
  readonly element: HTMLElement;
  readonly #buttons: ReadonlyMap<Deed, HTMLButtonElement>;
  readonly #sort: HTMLSelectElement;
  readonly #views: readonly HTMLButtonElement[];
  readonly #focusLost: () => void;

  constructor(texts: Texts, { asked, sorted, viewed, focusLost }: ToolbarEvents) {
    this.#focusLost = focusLost;
    const all = ['upload', 'newFolder', 'paste', ...DEEDS_FOR_ENTRIES, 'trash'] as const;
    this.#buttons = new Map(
      all.map((deed) => [deed, iconButton(deed, texts[deed], () => asked(deed), { 'data-deed': deed })]),
    );
    for (const deed of ['upload', 'newFolder'] as const) {
      this.#buttons.get(deed)?.classList.remove('icon-only');
      this.#buttons.get(deed)?.append(h('span', { class: 'label' }, texts[deed]));
    }
    const options = sortings.map((value) => h('option', { value }, texts.sorts[value]));
    this.#sort = h('select', { 'aria-label': texts.sort, class: 'button', part: 'sort' }, ...options);
    this.#sort.addEventListener('change', () => sorted(this.#sort.value as Sorting));
    this.#views = (['tiles', 'list'] as const).map((view) =>
      iconButton(view, texts[view], () => viewed(view), { 'data-view': view }),
    );
    // The trash belongs to the source, not to the selection.
    const { trash, ...others } = Object.fromEntries(this.#buttons) as Record<Deed, HTMLButtonElement>;
    this.element = h(
      'div',
      { role: 'toolbar', class: 'toolbar', part: 'toolbar', 'aria-label': texts.tools },
      ...Object.values(others),
      h('span', { class: 'gap' }),
      trash,
      this.#sort,
      ...this.#views,
    );
    // Not the sort menu, in which arrow keys choose an order.
    roveFocus(this.element, () => [...this.#buttons.values(), ...this.#views], 'horizontal');
  }

  show(offers: (deed: Deed) => boolean, sortBy: Sorting, view: View): void {
    const focused = [...this.#buttons.values()].find((button) => button.matches(':focus'));
    for (const [deed, button] of this.#buttons) button.hidden = !offers(deed);
    if (focused?.hidden === true) this.#focusLost();
    this.#sort.value = sortBy;
    for (const button of this.#views)
      button.setAttribute('aria-pressed', button.dataset['view'] === view ? 'true' : 'false');
    const all = [...this.#buttons.values(), ...this.#views].filter(({ hidden }) => !hidden);
    if (!all.some(({ tabIndex }) => tabIndex === 0) && all[0] !== undefined) all[0].tabIndex = 0;
  }
}
