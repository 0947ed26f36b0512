import type { AccessRule } from '../config/settings.ts';
import { withoutCase } from '../content/letter-case.ts';
import { AccessDeniedError } from '../errors/errors.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Access, Decision } from './access.ts';
import { compileRule, type CompiledRule } from './rule.ts';

interface NumberedRule extends CompiledRule {
  readonly index: number;
}

interface Scope {
  readonly foldCase: boolean;
}

const folded = (path: SourcePath): readonly string[] => path.segments.map(withoutCase);

const covers = (rule: SourcePath, path: SourcePath, { foldCase }: Scope): boolean => {
  if (!foldCase) return rule.contains(path);
  const inner = folded(path);
  return folded(rule).every((segment, index) => segment === inner[index]);
};

const describeRule = (rule: NumberedRule, key: string): string => {
  const verb = rule.verdicts.get(key) === true ? 'allows' : 'denies';
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
 * Compiles access rules. Of all rules that apply and mention the action, the last one decides; when none does, the action is
 * allowed.
 * @throws UnsafePathError when a rule's path leaves the source.
 */
export const compileRules = (rules: readonly AccessRule[]): RuleBook => {
  const numbered = rules.map((rule, index): NumberedRule => ({ ...compileRule(rule), index }));
  return { forRole: (role) => judge(role, numbered, { foldCase: false }) };
};

const judge = (role: string, rules: readonly NumberedRule[], scope: Scope): Access => {
  const own = rules.filter((rule) => rule.role === undefined || rule.role === role);

  const decidingRule = (
    key: string,
    path: SourcePath,
    extension: string | undefined,
  ): NumberedRule | undefined =>
    own.findLast(
      (rule) =>
        rule.verdicts.has(key) &&
        (rule.path === undefined || covers(rule.path, path, scope)) &&
        (rule.extensions === undefined || (extension !== undefined && rule.extensions.has(extension))),
    );

  const allows = (key: string, path: SourcePath, extension?: string): boolean =>
    decidingRule(key, path, extension)?.verdicts.get(key) ?? true;

  const explain = (key: string, path: SourcePath, extension?: string): Decision => {
    const rule = decidingRule(key, path, extension);
    if (rule === undefined) {
      return {
        allowed: true,
        rule: undefined,
        reason: `No rule for role "${role}" mentions ${key} here: allowed.`,
      };
    }
    return { allowed: rule.verdicts.get(key) === true, rule: rule.index, reason: describeRule(rule, key) };
  };

  const mayAllow = (key: string, folder: SourcePath): boolean => {
    for (const rule of own.toReversed()) {
      const verdict = rule.verdicts.get(key);
      if (verdict === undefined) continue;
      const coversAll = rule.path === undefined || covers(rule.path, folder, scope);
      if (verdict) {
        if (coversAll || (rule.path !== undefined && covers(folder, rule.path, scope))) return true;
      } else if (coversAll && rule.extensions === undefined) return false;
    }
    return true;
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
      own.some(
        (rule) => rule.verdicts.has(key) && (rule.path !== undefined || rule.extensions !== undefined),
      ),
    mayAllow,
    foldingCase: () => (scope.foldCase ? access : judge(role, rules, { foldCase: true })),
  };
  return access;
};
