import type { AccessRule } from '../config/settings.ts';
import { SourcePath } from '../storage/source-path.ts';

/** A rule made ready for deciding. */
export interface CompiledRule {
  /** Undefined: every role. */
  readonly role: string | undefined;
  /** Undefined: every path. */
  readonly path: SourcePath | undefined;
  /** Lower case, without dot. Undefined: every file, also one whose extension is not known. */
  readonly extensions: ReadonlySet<string> | undefined;
  readonly verdicts: ReadonlyMap<string, boolean>;
}

const extensionsOf = (value: string | readonly string[] | undefined): ReadonlySet<string> | undefined => {
  if (value === undefined) return undefined;
  const texts = typeof value === 'string' ? [value] : value;
  const extensions = texts.flatMap((text) => text.split(/[\s,]+/u)).filter((text) => text !== '');
  if (extensions.length === 0 || extensions.includes('*')) return undefined;
  return new Set(extensions.map((text) => text.replace(/^\./u, '').toLowerCase()));
};

const pathOf = (text: string | undefined): SourcePath | undefined => {
  const path = text === undefined ? SourcePath.root : SourcePath.parse(text);
  return path.isRoot ? undefined : path;
};

/** @throws UnsafePathError when the rule's path leaves the source. */
export const compileRule = (rule: AccessRule): CompiledRule => {
  const { role, path, extensions, ...keys } = rule;
  return {
    role: role === undefined || role === '*' ? undefined : role,
    path: pathOf(path),
    extensions: extensionsOf(extensions),
    verdicts: new Map(
      Object.entries(keys).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
    ),
  };
};
