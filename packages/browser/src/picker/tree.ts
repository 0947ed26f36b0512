import { h, icon } from './dom.ts';
import { type Folder, isAbort, isGone, joined, type Service, type SourceInfo } from './service.ts';
import type { Texts } from './texts.ts';

/** A folder of the tree. Its folders are asked for when it is opened. */
interface Branch {
  readonly folder: Folder;
  readonly element: HTMLElement;
  readonly group: HTMLElement;
  readonly parent: Branch | undefined;
  children: readonly Branch[] | undefined;
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

  /** The folder of an element, for what is dropped there. */
  folderAt(event: Event): Folder | undefined {
    return this.#branchAt(event)?.folder;
  }

  /** Opens the way to a folder and marks it. */
  async show({ source, path }: Folder): Promise<void> {
    let branch = this.#roots.find(({ folder }) => folder.source === source);
    let way = '';
    for (const name of path === '' ? [] : path.split('/')) {
      if (branch === undefined) break;
      await this.#open(branch);
      way = joined(way, name);
      const next: Branch | undefined = branch.children?.find(({ folder }) => folder.path === way);
      if (next === undefined) break;
      branch = next;
    }
    this.#mark(branch);
    if (branch !== undefined) await this.#open(branch);
  }

  /** Asks again for the folders in a folder, where they are shown. */
  async refresh({ source, path }: Folder): Promise<void> {
    const branch = this.#find(this.#roots, source, path);
    if (branch?.children === undefined) return;
    const wasOpen = branch.element.getAttribute('aria-expanded') === 'true';
    const current = this.#current?.folder;
    branch.children = undefined;
    if (wasOpen) await this.#open(branch);
    if (current !== undefined) await this.show(current);
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
    return { folder, element, group, parent, children: undefined };
  }

  async #open(branch: Branch): Promise<void> {
    if (branch.children === undefined) {
      try {
        const names = await this.#service.foldersIn(branch.folder, this.#ending.signal);
        const { source, path } = branch.folder;
        branch.children = names.map((name) =>
          this.#branch({ source, path: joined(path, name) }, name, branch),
        );
        branch.group.replaceChildren(...branch.children.flatMap(({ element, group }) => [element, group]));
      } catch (error) {
        if (isGone(error) && branch.parent !== undefined) return this.refresh(branch.parent.folder);
        // It is asked for again when it is opened again.
        if (!isAbort(error)) this.#events.failed(error);
        return;
      }
    }
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

  /** The branches that are seen, in their order. */
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
    this.#mark(branch);
    void this.#open(branch);
    this.#events.chosen(branch.folder);
  }

  #pressed(event: KeyboardEvent): void {
    const branch = this.#branchAt(event);
    if (branch === undefined) return;
    const seen = this.#seen();
    const at = seen.indexOf(branch);
    const isReversed = getComputedStyle(this.element).direction === 'rtl';
    const [inward, outward] = isReversed ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft'];
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
