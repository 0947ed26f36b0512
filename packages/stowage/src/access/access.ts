import { type AccessRule, extensionsOf } from '../config/access-rules.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { withoutCase } from '../basics/content/file-name.ts';
import { AccessDeniedError } from '../errors/errors.ts';
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

/**
 * What one role may do. Pure: the same question always gets the same answer. Keys are CONSTANT_CASE action
 * names (`FILE_REMOVE`); paths are inside the source; `extension` is lower case without dot, undefined when
 * not known or none.
 */
export interface Access {
  readonly role: string;
  allows(key: string, path: SourcePath, extension?: string): boolean;
  /** @throws AccessDeniedError */
  require(key: string, path: SourcePath, extension?: string): void;
  explain(key: string, path: SourcePath, extension?: string): Decision;
  /**
   * True when some rule about the action concerns a part of what lies below the folder, so that single items
   * can differ from the folder in their answer.
   */
  dependsOnItem(key: string, folder: SourcePath): boolean;
  /**
   * True unless the action is denied for the folder and for everything below it, whatever its extension and,
   * since the store is not known yet, however the store spells it. What the edge asks before an action checks
   * its single items; never a permission by itself.
   */
  mayAllow(key: string, folder: SourcePath): boolean;
  /** True when the action is allowed for the folder, or may be for something that lies immediately in it. */
  mayAllowIn(key: string, folder: SourcePath): boolean;
  /** True unless the role may list nothing in the folder nor in any folder below it: see FILES and FOLDERS. */
  mayList(folder: SourcePath): boolean;
  /**
   * The same for a store that takes names of different letter case for one: a rule about `/private` covers
   * `/Private` too.
   */
  foldingCase(): Access;
}

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

interface Scope {
  readonly foldCase: boolean;
}

const EXACT: Scope = { foldCase: false };
const FOLDED: Scope = { foldCase: true };

const folded = (path: SourcePath): readonly string[] => path.segments.map(withoutCase);

const covers = (rule: SourcePath, path: SourcePath, { foldCase }: Scope): boolean => {
  if (!foldCase) return rule.contains(path);
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
  return { forRole: (role) => accessOf(role, compiled, keys, EXACT) };
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
  own: readonly CompiledRule[],
  keys: RuleKeys,
  scope: Scope,
  { key, path, extension }: Asked,
): Decided | undefined => {
  const applies = (rule: CompiledRule): boolean =>
    (rule.path === undefined || covers(rule.path, path, scope)) &&
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
  path === undefined || covers(path, folder, FOLDED) || covers(folder, path, FOLDED);

/** Which items of a folder count: all below it, those that lie immediately in it, or the folders alone. */
type Reach = 'below' | 'in' | 'folders';

/**
 * Items that stand for all that a rule covers of a folder: they suffice to find out whether anything there is
 * allowed.
 */
const samplesOf = (
  { path, extensions }: CompiledRule,
  { key, folder, reach, scope }: { key: string; folder: SourcePath; reach: Reach; scope: Scope },
): readonly Asked[] => {
  const isOfFolders = reach === 'folders' || key.startsWith('FOLDER_');
  const withPath = (at: SourcePath): readonly Asked[] => {
    if (extensions === undefined) return [{ key, path: at, extension: undefined }];
    return isOfFolders ? [] : [...extensions].map((extension) => ({ key, path: at, extension }));
  };
  if (path === undefined || covers(path, folder, scope)) return withPath(folder);
  if (!covers(folder, path, scope)) return [];
  if (reach !== 'in') return withPath(path);
  if (path.segments.length > folder.segments.length + 1) return [];
  // Folders have no extension, and files have one.
  const extension = isOfFolders ? undefined : extensionOf(path.name);
  return isOfFolders === (extension === undefined) ? [{ key, path, extension }] : [];
};

const accessOf = (role: string, rules: readonly CompiledRule[], keys: RuleKeys, scope: Scope): Access => {
  const own = rules.filter((rule) => rule.role === undefined || rule.role === role);
  const decide = (key: string, path: SourcePath, extension: string | undefined): Decided | undefined =>
    decidedBy(own, keys, scope, { key, path, extension });

  const allows = (key: string, path: SourcePath, extension?: string): boolean =>
    decide(key, path, extension)?.isAllowed ?? true;

  /** Whether anything in reach is allowed: what no rule speaks of, or what an allowing rule covers. */
  const isPossible = (key: string, folder: SourcePath, reach: Reach, inScope: Scope): boolean => {
    const isAllowed = (asked: Asked): boolean => decidedBy(own, keys, inScope, asked)?.isAllowed ?? true;
    const { group = '', follows = '' } = keys.get(key) ?? {};
    return (
      isAllowed({ key, path: folder, extension: undefined }) ||
      own.some(
        (rule) =>
          [key, group, follows].some((one) => rule.effects.has(one)) &&
          samplesOf(rule, { key, folder, reach, scope: inScope }).some(isAllowed),
      )
    );
  };

  const explain = (key: string, path: SourcePath, extension?: string): Decision => {
    const decided = decide(key, path, extension);
    if (decided === undefined) {
      return {
        allowed: true,
        rule: undefined,
        reason: `No rule for role "${role}" mentions ${key} here.`,
      };
    }
    const { rule, isAllowed } = decided;
    return { allowed: isAllowed, rule: rule.index, reason: describeRule(rule, key, isAllowed) };
  };

  const access: Access = {
    role,
    allows,
    explain,
    require: (key, path, extension) => {
      if (!allows(key, path, extension))
        throw new AccessDeniedError({ detail: explain(key, path, extension).reason });
    },
    dependsOnItem: (key, folder) => {
      const effectOf = effectsOf(key, keys.get(key), () => false);
      const coversAll = ({ path, extensions }: CompiledRule): boolean =>
        extensions === undefined && (path === undefined || covers(path, folder, scope));
      return own.some((rule) => effectOf(rule) !== undefined && meets(folder, rule) && !coversAll(rule));
    },
    mayAllow: (key, folder) => [EXACT, FOLDED].some((one) => isPossible(key, folder, 'below', one)),
    mayAllowIn: (key, folder) => isPossible(key, folder, 'in', scope),
    mayList: (folder) => ['FILES', 'FOLDERS'].some((key) => isPossible(key, folder, 'folders', scope)),
    foldingCase: () => (scope.foldCase ? access : accessOf(role, rules, keys, FOLDED)),
  };
  return access;
};

/** Of requests that no rules are about. */
export const EVERYTHING: Access = compileRules([], new Map()).forRole('');
