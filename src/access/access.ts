import type { SourcePath } from '../storage/source-path.ts';

/** A decision and what led to it: `rule` is the index of the deciding rule, undefined when none applied (then: allowed). */
export interface Decision {
  readonly allowed: boolean;
  readonly rule: number | undefined;
  /** One English sentence for people: which rule decided, and why it applied. */
  readonly reason: string;
}

/**
 * What one role may do. Pure: the same question always gets the same answer. Keys are CONSTANT_CASE action names
 * (`FILE_REMOVE`); paths are inside the source; `extension` is lower case without dot, undefined when not known or none.
 */
export interface Access {
  readonly role: string;
  allows(key: string, path: SourcePath, extension?: string): boolean;
  /** @throws AccessDeniedError */
  require(key: string, path: SourcePath, extension?: string): void;
  explain(key: string, path: SourcePath, extension?: string): Decision;
  /** True when some rule about the action looks at paths or extensions, so that single items can differ in their answer. */
  dependsOnItem(key: string): boolean;
  /**
   * True unless the action is denied for the folder and for everything below it, whatever its extension and, since the store is not
   * known yet, however the store spells it. What edges ask before an action looks at its single items; never a permission by itself.
   */
  mayAllow(key: string, folder: SourcePath): boolean;
  /** True when the action is allowed for the folder, or may be for something that lies immediately in it. */
  mayAllowIn(key: string, folder: SourcePath): boolean;
  /** The same for a store that takes names of different letter case for one: a rule about `/private` covers `/Private` too. */
  foldingCase(): Access;
}
