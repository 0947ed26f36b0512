import { compileRules, type RuleBook } from './access/judge.ts';
import type { AccessRule } from './config/access-rule.ts';
import { loadAccessRules } from './config/load-access-rules.ts';
import { mustBe, problemAt, unknownKey } from './config/problems.ts';
import type { SourcesInput } from './config/types.ts';
import { ConfigError, StowageError } from './errors/errors.ts';
import type { HookRequest } from './http/message.ts';
import type { SvgGenerator } from './images/svg-generator.ts';

/** What `resolveSources` returns for a tenant: its key in the cache and its sources, written as in a configuration. */
export interface ResolvedTenant {
  readonly id: string;
  readonly sources: SourcesInput;
}

/** Code of the host that a connector calls. Every hook may be synchronous or asynchronous. */
export interface ConnectorHooks {
  /**
   * The role of the request. Runs on every request; without it every request has `defaultRole`. Throw `HttpError` to reject the
   * request with a status of your choice; any other exception, and a result that is no string, answers 500.
   */
  readonly checkAuthentication?: (request: HookRequest) => string | Promise<string>;
  /** The sources of the request's tenant; null or undefined: the configured sources serve it. */
  readonly resolveSources?: (
    request: HookRequest,
  ) => ResolvedTenant | null | undefined | Promise<ResolvedTenant | null | undefined>;
  /** Access rules that replace the configured ones for this request. */
  readonly accessControl?: (request: HookRequest) => readonly AccessRule[] | Promise<readonly AccessRule[]>;
  /** Whether the origin is accepted; replaces the setting `allowedOrigins`. Only asked while `allowCrossOrigin` is on. */
  readonly allowedOrigins?: (origin: string, request: HookRequest) => boolean | Promise<boolean>;
  /** Draws the icon of an entry: returns SVG markup, with names escaped. */
  readonly svgGenerator?: SvgGenerator;
}

const hookNames: Readonly<Record<keyof ConnectorHooks, true>> = {
  checkAuthentication: true,
  resolveSources: true,
  accessControl: true,
  allowedOrigins: true,
  svgGenerator: true,
};

const hookProblem = (name: string, hook: unknown): string | undefined => {
  if (!Object.hasOwn(hookNames, name)) return unknownKey(name, Object.keys(hookNames));
  return hook === undefined || typeof hook === 'function' ? undefined : mustBe('a function', hook);
};

/**
 * Refuses hooks that would never be called: a misspelt `checkAuthentication` would let everybody in, and so would a function in
 * place of the object.
 * @throws ConfigError with every problem.
 */
export const checkHooks = (hooks: ConnectorHooks): void => {
  if (typeof hooks !== 'object' || (hooks as unknown) === null || Array.isArray(hooks)) {
    throw new ConfigError([problemAt(['hooks'], mustBe('an object of functions by their names', hooks))]);
  }
  const problems = Object.entries(hooks).flatMap(([name, hook]) => {
    const problem = hookProblem(name, hook);
    return problem === undefined ? [] : [problemAt(['hooks', name], problem)];
  });
  if (problems.length > 0) throw new ConfigError(problems);
};

/**
 * The rules in force for the request: the hook's, else the configured ones.
 * @throws whatever the hook throws; ConfigError for rules that are none.
 */
export const rulesFor = async (
  { accessControl }: ConnectorHooks,
  configured: RuleBook,
  request: HookRequest,
): Promise<RuleBook> =>
  accessControl === undefined ? configured : compileRules(loadAccessRules(await accessControl(request)));

/**
 * The tenant of the request, checked in its outline; undefined: the configured sources serve it.
 * @throws whatever the hook throws; StowageError INTERNAL for a result that is no tenant.
 */
export const tenantOf = async (
  hooks: ConnectorHooks,
  request: HookRequest,
): Promise<ResolvedTenant | undefined> => {
  const { resolveSources } = hooks;
  if (resolveSources === undefined) return undefined;
  const tenant: unknown = await resolveSources(request);
  if (tenant === null || tenant === undefined) return undefined;
  if (!isTenant(tenant))
    throw new StowageError('INTERNAL', {
      detail: 'the hook resolveSources returned neither a tenant {id, sources} nor null',
    });
  return tenant;
};

const isTenant = (value: unknown): value is ResolvedTenant =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  value.id !== '' &&
  'sources' in value &&
  typeof value.sources === 'object' &&
  value.sources !== null;
