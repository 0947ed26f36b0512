import { type AccessRule, extensionsOf } from '../config/access-rules.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { withoutCase } from '../basics/content/file-name.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import type { EntryKind } from '../storage/entry.ts';
import { SourcePath } from '../storage/source-path.ts';

/**
 * A decision and what led to it: `rule` is the index of the deciding rule, undefined when none applied (then:
 * allowed).
 */
export interface Decision {
  readonly allowed: boolean;
  readonly rule: number | undefined;
  /** One English sentence for people: which rule decided, and why it applied. */
  readonly reason: string;
}

/** The keys that stand for several: for all that changes anything, and for all else. */
export type GroupKey = 'CHANGE' | 'READ';

/** What stands for a key in rules that do not name it. */
export interface StandIns {
  readonly group?: GroupKey | undefined;
  /** Decides where a rule names it, and no rule about the item names the key itself. */
  readonly follows?: string | undefined;
}

/** The keys that rules can name, each with what stands for it. */
export type RuleKeys = ReadonlyMap<string, StandIns>;

interface CompiledRule {
  readonly index: number;
  /** Undefined: every role. */
  readonly role: string | undefined;
  /** Undefined: every path. */
  readonly path: SourcePath | undefined;
  /** Lower case, without dot. Undefined: every file, also one whose extension is not known. */
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

/** Rules of one connector or request, compiled once; `forRole` is cheap. */
export interface RuleBook {
  forRole(role: string): Access;
}

/**
 * Compiles access rules. Of all rules that apply and name the action, by its own key or by one that stands for
 * it, the last one decides; when none does, the action is allowed. A rule's own key of the action wins over
 * what stands for it.
 * @throws UnsafePathError when a rule's path leaves the source.
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

/** What a rule says of an action; undefined: nothing. */
type EffectOf = (rule: CompiledRule) => boolean | undefined;

/** `isNamed`: a rule that concerns the same item names the key itself. */
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

/** What decides for a role. */
interface Ruling {
  readonly role: string;
  /** Those that are about the role. */
  readonly rules: readonly CompiledRule[];
  readonly keys: RuleKeys;
  /** Names of different letter case are one. */
  readonly foldsCase: boolean;
}

interface Asked {
  readonly key: string;
  readonly path: SourcePath;
  readonly extension: string | undefined;
}

interface Decided {
  readonly rule: CompiledRule;
  readonly isAllowed: boolean;
}

/** The last rule of a role that applies to an item and says something of the key. */
const decidedBy = (
  { rules: own, keys, foldsCase }: Ruling,
  { key, path, extension }: Asked,
): Decided | undefined => {
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

/** Whether a rule concerns the folder or something below it, in any spelling. */
const meets = (folder: SourcePath, { path }: CompiledRule): boolean =>
  path === undefined || covers(path, folder, true) || covers(folder, path, true);

/** Which items of a folder count: all below it, those that lie immediately in it, or the folders alone. */
type Reach = 'below' | 'in' | 'folders';

/**
 * Items that stand for all that a rule covers of a folder: they suffice to find out whether anything there is
 * allowed.
 */
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
  // Folders have no extension, and files have one.
  const extension = isOfFolders ? undefined : extensionOf(path.name);
  return isOfFolders === (extension === undefined) ? [{ key, path, extension }] : [];
};

/** Whether anything in reach is allowed: what no rule speaks of, or what an allowing rule covers. */
const isPossible = (ruling: Ruling, key: string, folder: SourcePath, reach: Reach): boolean => {
  const isAllowed = (asked: Asked): boolean => decidedBy(ruling, asked)?.isAllowed ?? true;
  const { rules, keys, foldsCase } = ruling;
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
 * What one role may do. Pure: the same question always gets the same answer, and none asks a store. Keys are
 * CONSTANT_CASE action names (`FILE_REMOVE`); paths are inside the source; `extension` is lower case without
 * dot, undefined when not known or none, as that of folders.
 */
export class Access {
  readonly role: string;
  readonly #ruling: Ruling;

  /** Decides as another one does. */
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

  /**
   * True when some rule about the action concerns a part of what lies below the folder, so that single items
   * can differ from the folder in their answer.
   */
  dependsOnItem(key: string, folder: SourcePath): boolean {
    const { rules, keys, foldsCase } = this.#ruling;
    const effectOf = effectsOf(key, keys.get(key), () => false);
    const coversAll = ({ path, extensions }: CompiledRule): boolean =>
      extensions === undefined && (path === undefined || covers(path, folder, foldsCase));
    return rules.some((rule) => effectOf(rule) !== undefined && meets(folder, rule) && !coversAll(rule));
  }

  /** Whether parts of a folder may fare otherwise than the folder, by any of the keys. */
  mayDiffer(keys: readonly string[], folder: SourcePath): boolean {
    return keys.some((key) => this.dependsOnItem(key, folder) || !this.allows(key, folder));
  }

  /**
   * True unless the action is denied for the folder and for everything below it, whatever its extension and,
   * since the store is not known yet, however the store spells it. What the edge asks before an action checks
   * its single items; never a permission by itself.
   */
  mayAllow(key: string, folder: SourcePath): boolean {
    return [false, true].some((foldsCase) =>
      isPossible({ ...this.#ruling, foldsCase }, key, folder, 'below'),
    );
  }

  /** True when the action is allowed for the folder, or may be for something that lies immediately in it. */
  mayAllowIn(key: string, folder: SourcePath): boolean {
    return isPossible(this.#ruling, key, folder, 'in');
  }

  /** True unless the role may list nothing in the folder nor in any folder below it: see FILES and FOLDERS. */
  mayList(folder: SourcePath): boolean {
    return ['FILES', 'FOLDERS'].some((key) => isPossible(this.#ruling, key, folder, 'folders'));
  }

  /**
   * The same for a store that takes names of different letter case for one: a rule about `/private` covers
   * `/Private` too.
   */
  foldingCase(): Access {
    return this.#ruling.foldsCase ? this : new Access({ ...this.#ruling, foldsCase: true });
  }
}

/** Of requests that no rules are about. */
export const EVERYTHING: Access = compileRules([], new Map()).forRole('');
