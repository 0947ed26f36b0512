import { arrowsOf, h, icon } from './dom.ts';
import {
  type Folder,
  isAbort,
  isGone,
  isSameFolder,
  joined,
  type Service,
  type SourceInfo,
} from './service.ts';
import type { Texts } from './texts.ts';

/** A folder of the tree. Its subfolders are requested when it is opened. */
interface Branch {
  readonly folder: Folder;
  readonly element: HTMLElement;
  readonly group: HTMLElement;
  readonly parent: Branch | undefined;
  children: readonly Branch[] | undefined;
  /** Whether the subfolders may have changed: they are requested again when the branch is opened. */
  isOld: boolean;
  /** The running request for its subfolders. Never rejects. */
  coming: Promise<void> | undefined;
  /** It was listed, but not found when it was last opened. */
  isLost: boolean;
}

export interface TreeEvents {
  readonly chosen: (folder: Folder) => void;
  readonly failed: (error: unknown) => void;
}

/** The folders of all sources, each source with its own root. */
export class Tree {
  readonly element: HTMLElement;
  readonly #service: Service;
  readonly #events: TreeEvents;
  readonly #ending = new AbortController();
  #roots: readonly Branch[] = [];
  #current: Branch | undefined;
  /** The last requested folder: responses for another one are too late. */
  #wanted: Folder | undefined;

  constructor(service: Service, texts: Texts, events: TreeEvents) {
    this.#service = service;
    this.#events = events;
    this.element = h('div', { role: 'tree', class: 'tree', part: 'tree', 'aria-label': texts.folders });
    this.element.addEventListener('click', (event) => this.#clicked(event));
    this.element.addEventListener('keydown', (event) => this.#pressed(event));
  }

  close(): void {
    this.#ending.abort();
  }

  set sources(sources: readonly SourceInfo[]) {
    this.#roots = sources.map(({ name, title }) =>
      this.#branch({ source: name, path: '' }, title, undefined),
    );
    this.element.replaceChildren(...this.#roots.flatMap(({ element, group }) => [element, group]));
  }

  /** The folder of an element, for drops. */
  folderAt(event: Event): Folder | undefined {
    return this.#branchAt(event)?.folder;
  }

  /** Opens the branches up to a folder and selects it, unless another one is requested meanwhile. */
  show(folder: Folder): Promise<void> {
    this.#wanted = folder;
    return this.#lead(folder);
  }

  async #lead(wanted: Folder): Promise<void> {
    const { source, path } = wanted;
    // If it is already selected, branches that the user has folded stay folded.
    const { folder: selected, element, children } = this.#current ?? {};
    if (selected && isSameFolder(selected, wanted) && element?.isConnected && children) return;
    let branch = this.#roots.find(({ folder }) => folder.source === source);
    let way = '';
    for (const name of path === '' ? [] : path.split('/')) {
      if (branch === undefined) break;
      await this.#open(branch);
      if (this.#wanted !== wanted) return;
      way = joined(way, name);
      const next: Branch | undefined = branch.children?.find(({ folder }) => folder.path === way);
      if (next === undefined) break;
      branch = next;
    }
    this.#mark(branch);
    if (branch !== undefined) await this.#open(branch);
  }

  /** Requests the subfolders of a folder again, if they are shown, and what the way to the open folder lacks. */
  async refresh({ source, path }: Folder): Promise<void> {
    const branch = this.#find(this.#roots, source, path);
    // A running request may have been processed before the change.
    await branch?.coming;
    if (branch?.element.getAttribute('aria-expanded') === 'false') branch.isOld = true;
    else if (branch !== undefined) {
      await this.#load(branch);
      this.#unfold(branch);
    }
    if (this.#wanted !== undefined) await this.#lead(this.#wanted);
  }

  #find(branches: readonly Branch[], source: string, path: string): Branch | undefined {
    for (const branch of branches) {
      if (branch.folder.source !== source) continue;
      if (branch.folder.path === path) return branch;
      const found = this.#find(branch.children ?? [], source, path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #branch(folder: Folder, name: string, parent: Branch | undefined): Branch {
    const label = h(
      'span',
      { class: 'branch', part: 'folder' },
      h('span', { class: 'twist', 'aria-hidden': 'true' }, icon('open')),
      icon('folder'),
      h('span', { class: 'name', dir: 'auto' }, name),
    );
    const group = h('div', { role: 'group', hidden: true });
    const element = h(
      'div',
      {
        role: 'treeitem',
        tabindex: -1,
        'aria-expanded': 'false',
        'aria-label': name,
        'aria-level': (folder.path === '' ? 0 : folder.path.split('/').length) + 1,
      },
      label,
    );
    if (parent === undefined && this.#current === undefined) element.tabIndex = 0;
    const state = { children: undefined, isOld: true, coming: undefined, isLost: false };
    return { folder, element, group, parent, ...state };
  }

  async #open(branch: Branch): Promise<void> {
    if (branch.isOld) await this.#load(branch);
    this.#unfold(branch);
  }

  /** Requests the subfolders of a branch; a running request is shared. */
  #load(branch: Branch): Promise<void> {
    branch.coming ??= this.#request(branch).finally(() => (branch.coming = undefined));
    return branch.coming;
  }

  async #request(branch: Branch): Promise<void> {
    try {
      const names = await this.#service.foldersIn(branch.folder, this.#ending.signal);
      const { source, path } = branch.folder;
      // Known branches stay unchanged: they may be open, or focused.
      const known = new Map(branch.children?.map((child) => [child.folder.path, child]));
      branch.children = names.map((name) => {
        const folder = { source, path: joined(path, name) };
        return known.get(folder.path) ?? this.#branch(folder, name, branch);
      });
      this.#showChildren(branch, branch.children);
      branch.isLost = branch.isOld = false;
    } catch (error) {
      // A failed request is repeated when the branch is opened again, which a refresh may cause: a store that
      // lists a folder but does not find it would be requested endlessly.
      if (isGone(error) && branch.parent !== undefined && !branch.isLost) {
        branch.isLost = true;
        void this.refresh(branch.parent.folder);
      } else if (!isAbort(error)) this.#events.failed(error);
    }
  }

  #showChildren({ element: own, group }: Branch, children: readonly Branch[]): void {
    const focused = group.querySelector<HTMLElement>(':focus');
    group.replaceChildren(...children.flatMap(({ element, group: below }) => [element, below]));
    // An element loses the focus when it is inserted again.
    if (focused !== null) (focused.isConnected ? focused : own).focus();
    if (this.element.querySelector('[tabindex="0"]') === null) own.tabIndex = 0;
  }

  /** Shows the known subfolders of a branch. */
  #unfold(branch: Branch): void {
    if (branch.children === undefined) return;
    const isEmpty = branch.children.length === 0;
    branch.element.classList.toggle('leaf', isEmpty);
    if (isEmpty) branch.element.removeAttribute('aria-expanded');
    else branch.element.setAttribute('aria-expanded', 'true');
    branch.group.hidden = isEmpty;
  }

  #fold(branch: Branch): void {
    if (branch.children !== undefined && branch.children.length > 0)
      branch.element.setAttribute('aria-expanded', 'false');
    branch.group.hidden = true;
  }

  #mark(branch: Branch | undefined): void {
    this.#current?.element.setAttribute('aria-selected', 'false');
    this.#current = branch;
    branch?.element.setAttribute('aria-selected', 'true');
    if (branch !== undefined) this.#stopAt(branch);
  }

  #stopAt(branch: Branch): void {
    for (const other of this.element.querySelectorAll<HTMLElement>('[tabindex="0"]')) other.tabIndex = -1;
    branch.element.tabIndex = 0;
  }

  #branchAt(event: Event): Branch | undefined {
    const target = event.composedPath()[0];
    const element = target instanceof Element ? target.closest('[role="treeitem"]') : null;
    return element === null ? undefined : this.#all(this.#roots).find((branch) => branch.element === element);
  }

  #all(branches: readonly Branch[]): readonly Branch[] {
    return branches.flatMap((branch) => [branch, ...this.#all(branch.children ?? [])]);
  }

  /** The visible branches, in their order. */
  #seen(branches: readonly Branch[] = this.#roots): readonly Branch[] {
    return branches.flatMap((branch) => [
      branch,
      ...(branch.group.hidden ? [] : this.#seen(branch.children ?? [])),
    ]);
  }

  #clicked(event: MouseEvent): void {
    const branch = this.#branchAt(event);
    const target = event.composedPath()[0];
    if (branch === undefined) return;
    if (target instanceof Element && target.closest('.twist') !== null) void this.#turn(branch);
    else this.#choose(branch);
  }

  #turn(branch: Branch): Promise<void> {
    if (branch.group.hidden) return this.#open(branch);
    this.#fold(branch);
    return Promise.resolve();
  }

  #choose(branch: Branch): void {
    this.#wanted = branch.folder;
    this.#mark(branch);
    void this.#open(branch);
    this.#events.chosen(branch.folder);
  }

  #pressed(event: KeyboardEvent): void {
    const branch = this.#branchAt(event);
    if (branch === undefined) return;
    const seen = this.#seen();
    const at = seen.indexOf(branch);
    const [inward, outward] = arrowsOf(this.element);
    const go = (to: Branch | undefined): void => {
      if (to === undefined) return;
      this.#stopAt(to);
      to.element.focus();
    };
    if (event.key === 'ArrowDown') go(seen[at + 1]);
    else if (event.key === 'ArrowUp') go(seen[at - 1]);
    else if (event.key === 'Home') go(seen[0]);
    else if (event.key === 'End') go(seen.at(-1));
    else if (event.key === inward) {
      if (branch.group.hidden) void this.#open(branch);
      else go(branch.children?.[0]);
    } else if (event.key === outward) {
      if (branch.group.hidden) go(branch.parent);
      else this.#fold(branch);
    } else if (event.key === 'Enter' || event.key === ' ') this.#choose(branch);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
