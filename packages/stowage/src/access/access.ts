import { type AccessRule, extensionsOf } from '../config/access-rules.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { withoutCase } from '../basics/content/file-name.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import type { EntryKind } from '../storage/entry.ts';
import { SourcePath } from '../storage/source-path.ts';

/** A decision. `rule` is the index of the deciding rule, undefined when none applied: allowed then. */
export interface Decision {
  readonly allowed: boolean;
  readonly rule: number | undefined;
  /** One English sentence: which rule decided, and why it applied. */
  readonly reason: string;
}

/** Keys for groups of actions: all that change something, and all others. */
export type GroupKey = 'CHANGE' | 'READ';

/** Fallback keys for rules that do not name an action's own key. */
export interface StandIns {
  readonly group?: GroupKey | undefined;
  /** Key that decides when a rule names it and no rule about the item names the own key. */
  readonly follows?: string | undefined;
}

/** The keys that rules can name, each with its fallbacks. */
export type RuleKeys = ReadonlyMap<string, StandIns>;

interface CompiledRule {
  readonly index: number;
  /** Undefined: every role. */
  readonly role: string | undefined;
  /** Undefined: every path. */
  readonly path: SourcePath | undefined;
  /** Lower case, without dot. Undefined: every file, including those without a known extension. */
  readonly extensions: ReadonlySet<string> | undefined;
  readonly effects: ReadonlyMap<string, boolean>;
}

const pathOf = (text: string | undefined): SourcePath | undefined => {
  const path = text === undefined || text === '*' ? SourcePath.root : SourcePath.parse(text);
  return path.isRoot ? undefined : path;
};

const compileRule = (rule: AccessRule, index: number): CompiledRule => {
  const { role, path, extensions: _, ...keys } = rule;
  return {
    index,
    role: role === undefined || role === '*' ? undefined : role,
    path: pathOf(path),
    extensions: extensionsOf(rule),
    effects: new Map(
      Object.entries(keys).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
    ),
  };
};

const folded = (path: SourcePath): readonly string[] => path.segments.map(withoutCase);

const covers = (rule: SourcePath, path: SourcePath, foldsCase: boolean): boolean => {
  if (!foldsCase) return rule.contains(path);
  const inner = folded(path);
  return folded(rule).every((segment, index) => segment === inner[index]);
};

const describeRule = (rule: CompiledRule, key: string, isAllowed: boolean): string => {
  const verb = isAllowed ? 'allows' : 'denies';
  const conditions = [
    rule.role === undefined ? 'every role' : `role "${rule.role}"`,
    ...(rule.path === undefined ? [] : [`paths below "/${rule.path.toString()}"`]),
    ...(rule.extensions === undefined ? [] : [`extensions ${[...rule.extensions].join(', ')}`]),
  ];
  return `Rule ${String(rule.index)} ${verb} ${key} for ${conditions.join(', ')}.`;
};

/** Rules of one connector or request, compiled once. `forRole` is cheap. */
export interface RuleBook {
  forRole(role: string): Access;
}

/**
 * Compiles access rules. Of all rules that apply and name the action, by its own key or a fallback, the last
 * one decides; without one the action is allowed. Within a rule, the own key wins over its fallbacks.
 * @throws UnsafePathError when a rule's path leaves the source
 */
export const compileRules = (rules: readonly AccessRule[], keys: RuleKeys): RuleBook => {
  const compiled = rules.map(compileRule);
  return {
    forRole: (role) => {
      const own = compiled.filter((rule) => rule.role === undefined || rule.role === role);
      return new Access({ role, rules: own, keys, foldsCase: false });
    },
  };
};

/** The effect of a rule on an action; undefined when it has none. */
type EffectOf = (rule: CompiledRule) => boolean | undefined;

/** `isNamed`: whether a rule about the same item names the key itself. */
const effectsOf = (key: string, { group, follows }: StandIns = {}, isNamed: () => boolean): EffectOf => {
  if (group === undefined && follows === undefined) return ({ effects }) => effects.get(key);
  return ({ effects }) => {
    const own = effects.get(key);
    if (own !== undefined) return own;
    const byGroup = group === undefined ? undefined : effects.get(group);
    const followed = follows === undefined ? undefined : effects.get(follows);
    return followed !== undefined && (byGroup !== undefined || !isNamed()) ? followed : byGroup;
  };
};

/** The rules and options that decide for a role. */
interface Ruling {
  readonly role: string;
  /** The rules that apply to the role. */
  readonly rules: readonly CompiledRule[];
  readonly keys: RuleKeys;
  /** Paths match regardless of letter case. */
  readonly foldsCase: boolean;
}

interface Asked {
  readonly key: string;
  readonly path: SourcePath;
  readonly extension: string | undefined;
}

/** The last rule of a role that applies to an item and names the key. */
const decidedBy = ({ rules: own, keys, foldsCase }: Ruling, { key, path, extension }: Asked) => {
  const applies = (rule: CompiledRule): boolean =>
    (rule.path === undefined || covers(rule.path, path, foldsCase)) &&
    (rule.extensions === undefined || (extension !== undefined && rule.extensions.has(extension)));
  const isNamed = (): boolean => own.some((rule) => rule.effects.has(key) && applies(rule));
  const effectOf = effectsOf(key, keys.get(key), isNamed);
  for (let index = own.length - 1; index >= 0; index -= 1) {
    const rule = own[index];
    const isAllowed = rule && effectOf(rule);
    if (rule !== undefined && isAllowed !== undefined && applies(rule)) return { rule, isAllowed };
  }
  return undefined;
};

/** Whether a rule affects the folder or something below it, in any letter case. */
const meets = (folder: SourcePath, { path }: CompiledRule): boolean =>
  path === undefined || covers(path, folder, true) || covers(folder, path, true);

/** The items of a folder to consider: all below it, its direct children, or folders only. */
type Reach = 'below' | 'in' | 'folders';

/** Sample items for everything in the folder that a rule covers, to find out whether anything is allowed. */
const samplesOf = (
  { path, extensions }: CompiledRule,
  { key, folder, reach, foldsCase }: { key: string; folder: SourcePath; reach: Reach; foldsCase: boolean },
): readonly Asked[] => {
  const isOfFolders = reach === 'folders' || key.startsWith('FOLDER_');
  const withPath = (at: SourcePath): readonly Asked[] => {
    if (extensions === undefined) return [{ key, path: at, extension: undefined }];
    return isOfFolders ? [] : [...extensions].map((extension) => ({ key, path: at, extension }));
  };
  if (path === undefined || covers(path, folder, foldsCase)) return withPath(folder);
  if (!covers(folder, path, foldsCase)) return [];
  if (reach !== 'in') return withPath(path);
  if (path.segments.length > folder.segments.length + 1) return [];
  // Folders have no extension; files have one.
  const extension = isOfFolders ? undefined : extensionOf(path.name);
  return isOfFolders === (extension === undefined) ? [{ key, path, extension }] : [];
};

/** Whether anything in reach is allowed: by no rule being about it, or by an allowing rule. */
const isPossible = (ruling: Ruling, key: string, folder: SourcePath, reach: Reach): boolean => {
  const { rules, keys, foldsCase } = ruling;
  // Many services have no rules, and each `permissions` asks sixty times.
  if (rules.length === 0) return true;
  const isAllowed = (asked: Asked): boolean => decidedBy(ruling, asked)?.isAllowed ?? true;
  const { group = '', follows = '' } = keys.get(key) ?? {};
  return (
    isAllowed({ key, path: folder, extension: undefined }) ||
    rules.some(
      (rule) =>
        [key, group, follows].some((one) => rule.effects.has(one)) &&
        samplesOf(rule, { key, folder, reach, foldsCase }).some(isAllowed),
    )
  );
};

/** The extension that access rules evaluate; undefined for folders. */
const ruleExtension = (name: string, kind: EntryKind): string | undefined =>
  kind === 'file' ? extensionOf(name) : undefined;

/**
 * The rights of one role. Pure: the same arguments always return the same result, and no store is read. Keys
 * are CONSTANT_CASE action names (`FILE_REMOVE`); paths are inside the source; `extension` is lower case
 * without dot, undefined for folders and where there is none or it is unknown.
 */
export class Access {
  readonly role: string;
  readonly #ruling: Ruling;

  /** From an `Access` it makes one with the same decisions. */
  constructor(ruling: Ruling | Access) {
    this.#ruling = ruling instanceof Access ? ruling.#ruling : ruling;
    this.role = ruling.role;
  }

  allows(key: string, path: SourcePath, extension?: string): boolean {
    return decidedBy(this.#ruling, { key, path, extension })?.isAllowed ?? true;
  }

  explain(key: string, path: SourcePath, extension?: string): Decision {
    const decided = decidedBy(this.#ruling, { key, path, extension });
    if (decided === undefined) {
      return {
        allowed: true,
        rule: undefined,
        reason: `No rule for role "${this.role}" mentions ${key} here.`,
      };
    }
    const { rule, isAllowed } = decided;
    return { allowed: isAllowed, rule: rule.index, reason: describeRule(rule, key, isAllowed) };
  }

  may(key: string, path: SourcePath, kind: EntryKind): boolean {
    return this.allows(key, path, ruleExtension(path.name, kind));
  }

  /** @throws AccessDeniedError where one of the keys is denied for the file or folder */
  require(keys: string | readonly string[], path: SourcePath, kind: EntryKind = 'folder'): void {
    const extension = ruleExtension(path.name, kind);
    for (const key of [keys].flat())
      if (!this.allows(key, path, extension))
        throw new AccessDeniedError({ detail: this.explain(key, path, extension).reason });
  }

  /** Whether one of the rules that name the key, by itself or by a fallback, passes the test. */
  #hasRule(key: string, passes: (rule: CompiledRule) => boolean): boolean {
    const { rules, keys } = this.#ruling;
    const effectOf = effectsOf(key, keys.get(key), () => false);
    return rules.some((rule) => effectOf(rule) !== undefined && passes(rule));
  }

  #coversAll({ path }: CompiledRule, folder: SourcePath): boolean {
    return path === undefined || covers(path, folder, this.#ruling.foldsCase);
  }

  /** Whether a rule covers only a part of the folder's contents, so that decisions differ between items. */
  dependsOnItem(key: string, folder: SourcePath): boolean {
    return this.#hasRule(
      key,
      (rule) => meets(folder, rule) && !(rule.extensions === undefined && this.#coversAll(rule, folder)),
    );
  }

  /** Whether the decision for parts of a folder may differ from the folder, for any of the keys. */
  mayDiffer(keys: readonly string[], folder: SourcePath): boolean {
    return keys.some((key) => this.dependsOnItem(key, folder) || !this.allows(key, folder));
  }

  /** Whether decisions for an item of one folder may differ from those for the same item in the other. */
  mayDifferBetween(keys: readonly string[], one: SourcePath, other: SourcePath): boolean {
    const differs = (rule: CompiledRule): boolean =>
      (meets(one, rule) || meets(other, rule)) &&
      !(this.#coversAll(rule, one) && this.#coversAll(rule, other));
    return keys.some((key) => this.#hasRule(key, differs));
  }

  /**
   * False only when the action is denied for the folder and everything below it, for every extension and,
   * because the store is not known yet, in every letter case. An early check of requests, before the action
   * checks its items; never a permission by itself.
   */
  mayAllow(key: string, folder: SourcePath): boolean {
    const ruling = this.#ruling;
    return (
      isPossible(ruling, key, folder, 'below') ||
      isPossible({ ...ruling, foldsCase: !ruling.foldsCase }, key, folder, 'below')
    );
  }

  /** Whether the action is allowed for the folder, or may be for one of its direct children. */
  mayAllowIn(key: string, folder: SourcePath): boolean {
    return isPossible(this.#ruling, key, folder, 'in');
  }

  /** False only when the role can list nothing in the folder or below it: see FILES and FOLDERS. */
  mayList(folder: SourcePath): boolean {
    return ['FILES', 'FOLDERS'].some((key) => isPossible(this.#ruling, key, folder, 'folders'));
  }

  /** The same rights for a store that ignores letter case: a rule about `/private` covers `/Private` too. */
  foldingCase(): Access {
    return this.#ruling.foldsCase ? this : new Access({ ...this.#ruling, foldsCase: true });
  }
}

/** For requests without rules: allows everything. */
export const EVERYTHING: Access = compileRules([], new Map()).forRole('');
