import { z } from 'zod';
import { SourcePath } from '../storage/source-path.ts';

const isSourcePath = (text: string): boolean => {
  try {
    SourcePath.parse(text);
    return true;
  } catch {
    return false;
  }
};

/**
 * An access rule: applies to a role, a folder and extensions, and allows or denies actions by their CONSTANT_CASE keys.
 * `loadAccessRules` checks rules, keys included.
 */
export interface AccessRule {
  /** Absent or `*`: every role. */
  readonly role?: string | undefined;
  /** A folder inside the source; the rule covers it and all below it. Absent: everything. */
  readonly path?: string | undefined;
  /** A list, or a text split on commas and spaces; `*` or absent: every file. */
  readonly extensions?: string | readonly string[] | undefined;
  /** `FILE_REMOVE: false` denies the action, `true` allows it. */
  readonly [action: Uppercase<string>]: boolean;
}

const ruleShape = z
  .object({
    role: z.string().optional(),
    path: z.string().refine(isSourcePath, 'must be a folder inside the source').optional(),
    extensions: z.union([z.string(), z.array(z.string())]).optional(),
  })
  .catchall(z.boolean());

/** The keys of a rule that are no action's. */
export const accessRuleKeys: readonly string[] = Object.keys(ruleShape.shape);

// A catch-all cannot be told apart from the named keys by its inferred type; the interface above says what is meant.
export const accessRuleSchema = ruleShape as unknown as z.ZodType<AccessRule, AccessRule>;
