import type { AccessRule } from '../config/settings.ts';
import { extensionOf } from '../content/extension.ts';
import { withoutCase } from '../content/letter-case.ts';
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
   * True when some rule about the action looks at paths or extensions, so that single items can differ in
   * their answer.
   */
  dependsOnItem(key: string): boolean;
  /**
   * True unless the action is denied for the folder and for everything below it, whatever its extension and,
   * since the store is not known yet, however the store spells it. What the edge asks before an action checks
   * its single items; never a permission by itself.
   */
  mayAllow(key: string, folder: SourcePath): boolean;
  /** True when the action is allowed for the folder, or may be for something that lies immediately in it. */
  mayAllowIn(key: string, folder: SourcePath): boolean;
  /**
   * The same for a store that takes names of different letter case for one: a rule about `/private` covers
   * `/Private` too.
   */
  foldingCase(): Access;
}

/** A rule made ready for evaluation. */
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

const extensionsOf = (value: string | readonly string[] | undefined): ReadonlySet<string> | undefined => {
  if (value === undefined) return undefined;
  const texts = typeof value === 'string' ? [value] : value;
  const extensions = texts.flatMap((text) => text.split(/[\s,]+/u)).filter((text) => text !== '');
  if (extensions.length === 0 || extensions.includes('*')) return undefined;
  return new Set(extensions.map((text) => text.replace(/^\./u, '').toLowerCase()));
};

const pathOf = (text: string | undefined): SourcePath | undefined => {
  const path = text === undefined || text === '*' ? SourcePath.root : SourcePath.parse(text);
  return path.isRoot ? undefined : path;
};

const compileRule = (rule: AccessRule, index: number): CompiledRule => {
  const { role, path, extensions, ...keys } = rule;
  return {
    index,
    role: role === undefined || role === '*' ? undefined : role,
    path: pathOf(path),
    extensions: extensionsOf(extensions),
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

const describeRule = (rule: CompiledRule, key: string): string => {
  const verb = rule.effects.get(key) === true ? 'allows' : 'denies';
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
 * Compiles access rules. Of all rules that apply and mention the action, the last one decides; when none
 * does, the action is allowed.
 * @throws UnsafePathError when a rule's path leaves the source.
 */
export const compileRules = (rules: readonly AccessRule[]): RuleBook => {
  const compiled = rules.map(compileRule);
  return { forRole: (role) => accessOf(role, compiled, EXACT) };
};

/**
 * Whether some item that an allowing rule can cover is not denied by a later rule that covers all of them.
 */
const isPossible = (
  own: readonly CompiledRule[],
  key: string,
  folder: SourcePath,
  canCover: (rule: CompiledRule) => boolean,
  denial: Scope,
): boolean => {
  for (const rule of own.toReversed()) {
    const effect = rule.effects.get(key);
    if (effect === undefined) continue;
    if (effect && canCover(rule)) return true;
    const coversAll = rule.path === undefined || covers(rule.path, folder, denial);
    if (!effect && coversAll && rule.extensions === undefined) return false;
  }
  return true;
};

/**
 * Whether a rule may cover something that lies immediately in a folder. Folders have no extension, and files
 * have one.
 */
const coveringItemsOf = (
  key: string,
  folder: SourcePath,
  scope: Scope,
): ((rule: CompiledRule) => boolean) => {
  const isOfFolders = key.startsWith('FOLDER_');
  const isItem = (path: SourcePath): boolean =>
    (isOfFolders || extensionOf(path.name) !== undefined) &&
    path.segments.length === folder.segments.length + 1 &&
    covers(folder, path, scope);
  return ({ path, extensions }) =>
    (extensions === undefined || !isOfFolders) &&
    (path === undefined || covers(path, folder, scope) || isItem(path));
};

const accessOf = (role: string, rules: readonly CompiledRule[], scope: Scope): Access => {
  const own = rules.filter((rule) => rule.role === undefined || rule.role === role);

  const decidingRule = (
    key: string,
    path: SourcePath,
    extension: string | undefined,
  ): CompiledRule | undefined =>
    own.findLast(
      (rule) =>
        rule.effects.has(key) &&
        (rule.path === undefined || covers(rule.path, path, scope)) &&
        (rule.extensions === undefined || (extension !== undefined && rule.extensions.has(extension))),
    );

  const allows = (key: string, path: SourcePath, extension?: string): boolean =>
    decidingRule(key, path, extension)?.effects.get(key) ?? true;

  const explain = (key: string, path: SourcePath, extension?: string): Decision => {
    const rule = decidingRule(key, path, extension);
    if (rule === undefined) {
      return {
        allowed: true,
        rule: undefined,
        reason: `No rule for role "${role}" mentions ${key} here.`,
      };
    }
    return { allowed: rule.effects.get(key) === true, rule: rule.index, reason: describeRule(rule, key) };
  };

  const access: Access = {
    role,
    allows,
    explain,
    require: (key, path, extension) => {
      if (!allows(key, path, extension))
        throw new AccessDeniedError({ detail: explain(key, path, extension).reason });
    },
    dependsOnItem: (key) =>
      own.some((rule) => rule.effects.has(key) && (rule.path !== undefined || rule.extensions !== undefined)),
    mayAllow: (key, folder) =>
      isPossible(
        own,
        key,
        folder,
        ({ path }) => path === undefined || covers(path, folder, FOLDED) || covers(folder, path, FOLDED),
        EXACT,
      ),
    mayAllowIn: (key, folder) => isPossible(own, key, folder, coveringItemsOf(key, folder, scope), scope),
    foldingCase: () => (scope.foldCase ? access : accessOf(role, rules, FOLDED)),
  };
  return access;
};
