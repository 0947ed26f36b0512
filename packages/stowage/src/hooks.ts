import type { FindUses } from './actions/file-uses.ts';
import { compileRules, type RuleBook, type RuleKeys } from './access/access.ts';
import { type AccessRule, loadAccessRules, unknownKeyWarnings } from './config/access-rules.ts';
import { hintAt, mustBe, problemAt, unknownKey } from './config/problems.ts';
import type { SourcesInput } from './config/types.ts';
import { ConfigError, HttpError, InternalError, isHttpError, StowageError } from './errors/errors.ts';
import type { ServiceEvent } from './config/event.ts';
import type { HookRequest, Identity } from './http/message.ts';
import type { DescribePicture } from './operations/describing/describer.ts';
import type { InspectUpload } from './operations/inspection/inspector.ts';
import type { SvgGenerator } from './pictures/kept/thumbnails.ts';
import type { Logger } from './basics/log/logger.ts';

/** Result of `resolveSources`: the tenant's cache key, and its sources in the format of the configuration. */
export interface ResolvedTenant {
  readonly id: string;
  readonly sources: SourcesInput;
}

/**
 * Functions of the host that a connector calls. Every hook may be synchronous or asynchronous. `Native` is
 * the type of `request.native`, set by the host's framework: `ConnectorHooks<express.Request>`.
 */
export interface ConnectorHooks<Native = unknown> {
  /**
   * Returns the role of the request, or role and user (`{ role, subject }`): the log names the user, and
   * `accessControl` gets both. Runs on every request; without it every request has `defaultRole`. Throw
   * `HttpError` to reject the request with a status of your choice; any other exception, and any other
   * result, becomes a 500.
   */
  readonly checkAuthentication?: (
    request: HookRequest<Native>,
  ) => string | Identity | Promise<string | Identity>;
  /** Returns the sources of the request's tenant; null or undefined selects the configured sources. */
  readonly resolveSources?: (
    request: HookRequest<Native>,
  ) => ResolvedTenant | null | undefined | Promise<ResolvedTenant | null | undefined>;
  /** Returns access rules that replace the configured ones for this request. */
  readonly accessControl?: (
    request: HookRequest<Native>,
    identity: Identity,
  ) => readonly AccessRule[] | Promise<readonly AccessRule[]>;
  /** Whether the origin is accepted, instead of the setting; only while `allowCrossOrigin` is on. */
  readonly allowedOrigins?: (origin: string, request: HookRequest<Native>) => boolean | Promise<boolean>;
  /**
   * Called before every change that all other checks allow. Throw `HttpError` to reject it. For new files and
   * folders (`file.created`, `folder.created`), and for moves, renames and copies, a returned string replaces
   * the new name, and is checked like the first one.
   */
  readonly beforeEvent?: (
    event: ServiceEvent,
  ) => string | null | undefined | void | Promise<string | null | undefined | void>;
  /**
   * Inspects all content that users upload or fetch, in its original form, before it is decoded, named or
   * stored. A returned string is the reason of a rejection (422); throw `HttpError` for another status. Any
   * other exception, and any other result, becomes a 500, and nothing is stored.
   */
  readonly inspectUpload?: InspectUpload;
  /**
   * Returns the pages of the host that use a file: users see their titles before they remove, rename, move or
   * replace it. Called by `fileUses`, only for existing files that the requester may see.
   */
  readonly findUses?: FindUses;
  /**
   * Describes a stored picture. Called after the response to an upload, for two pictures at a time, for at
   * most a minute each, and by `stowage describe`. Only empty fields are filled; a failure is logged.
   */
  readonly describePicture?: DescribePicture;
  /** Called after every change. The response does not wait for it; a failure is logged. */
  readonly onEvent?: (event: ServiceEvent) => unknown;
  /** Draws the icon of an entry: returns SVG markup with names escaped. */
  readonly svgGenerator?: SvgGenerator;
}

const hookNames: Readonly<Record<keyof ConnectorHooks, true>> = {
  checkAuthentication: true,
  resolveSources: true,
  accessControl: true,
  allowedOrigins: true,
  beforeEvent: true,
  inspectUpload: true,
  findUses: true,
  describePicture: true,
  onEvent: true,
  svgGenerator: true,
};

const hookProblem = (name: string, hook: unknown): string | undefined => {
  if (!Object.hasOwn(hookNames, name)) return unknownKey(name, Object.keys(hookNames));
  return hook === undefined || typeof hook === 'function' ? undefined : mustBe('a function', hook);
};

/** Whether an object is a class instance, which may have fields and methods that are not hooks. */
const isInstance = (hooks: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(hooks);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
};

/** Members to check as hooks: all of a plain object; of an instance hooks, and methods named like one. */
const membersOf = (hooks: object): readonly (readonly [name: string, hook: unknown])[] => {
  if (!isInstance(hooks)) return Object.entries(hooks);
  const names = new Set<string>(Object.keys(hookNames));
  for (
    let owner: object | null = hooks;
    owner !== null;
    owner = Object.getPrototypeOf(owner) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(owner)) names.add(name);
  }
  return [...names]
    .filter((name) => Object.hasOwn(hookNames, name) || hintAt(name, Object.keys(hookNames)) !== '')
    .map((name) => [name, (hooks as Record<string, unknown>)[name]] as const)
    .filter(([name, hook]) => Object.hasOwn(hookNames, name) || typeof hook === 'function');
};

/**
 * Rejects hooks that would never be called: with a misspelt `checkAuthentication`, or a function instead of
 * the object, every request would be allowed.
 * @throws ConfigError with every problem.
 */
export const checkHooks = (hooks: ConnectorHooks): void => {
  if (typeof hooks !== 'object' || (hooks as unknown) === null || Array.isArray(hooks))
    throw new ConfigError([problemAt(['hooks'], mustBe('an object of functions by their names', hooks))]);
  const problems = membersOf(hooks).flatMap(([name, hook]) => {
    const problem = hookProblem(name, hook);
    return problem === undefined ? [] : [problemAt(['hooks', name], problem)];
  });
  if (problems.length > 0) throw new ConfigError(problems);
};

/** Different warnings about the rules of a hook that are logged, each once. */
const MOST_LOGGED = 100;

/**
 * Returns the rules for a request: those of the hook, else the configured ones. A list object that the hook
 * returns again is validated and compiled once, unless its content changes. Keys without an action are
 * logged.
 * @throws errors of the hook; ConfigError for rules that are not valid.
 */
export const createRulesFor = (
  hooks: ConnectorHooks,
  keys: RuleKeys,
  configured: RuleBook,
  log: Pick<Logger, 'warn'>,
): ((request: HookRequest, identity: Identity) => Promise<RuleBook>) => {
  const compiled = new WeakMap<object, { readonly text: string; readonly rules: RuleBook }>();
  const logged = new Set<string>();
  const warn = (warning: string): void => {
    if (logged.has(warning) || logged.size === MOST_LOGGED) return;
    logged.add(warning);
    log.warn(warning);
  };
  return async (request, identity) => {
    if (hooks.accessControl === undefined) return configured;
    const list = await hooks.accessControl(request, identity);
    // A host may change its list in place, and new rules must take effect.
    const text = JSON.stringify(list, (_key, value: unknown) => value ?? null);
    const known = isObject(list) ? compiled.get(list) : undefined;
    if (known?.text === text) return known.rules;
    const loaded = loadAccessRules(list);
    unknownKeyWarnings(loaded, keys.keys()).forEach(warn);
    const rules = compileRules(loaded, keys);
    compiled.set(list, { text, rules });
    return rules;
  };
};

/**
 * Error for the request whose hook failed: an `HttpError` stays, anything else becomes an internal error. That
 * includes Stowage's own client errors: a hook that works with a store may meet them, but they are not about
 * this request.
 */
export const asHookFailure = (error: unknown, hook: keyof ConnectorHooks): unknown => {
  if (isHttpError(error) || (error instanceof StowageError && error.status >= 500)) return error;
  const reason =
    error instanceof HttpError
      ? `threw an HttpError whose status is not a number from 400 to 599: ${String(error.status)}`
      : 'failed';
  return new InternalError({ detail: `the hook ${hook} ${reason}`, cause: error });
};

/** Calls a hook; converts its errors with `asHookFailure`. */
export const fromHook = async <Value>(
  hook: keyof ConnectorHooks,
  call: () => Value | Promise<Value>,
): Promise<Value> => {
  try {
    return await call();
  } catch (error) {
    throw asHookFailure(error, hook);
  }
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * The tenant of the request, with its shape checked; undefined: the configured sources.
 * @throws errors of the hook; InternalError for a result that is not a tenant.
 */
export const tenantOf = async (
  hooks: ConnectorHooks,
  request: HookRequest,
): Promise<ResolvedTenant | undefined> => {
  if (hooks.resolveSources === undefined) return undefined;
  const tenant: unknown = await hooks.resolveSources(request);
  if (tenant === null || tenant === undefined) return undefined;
  if (!isTenant(tenant))
    throw new InternalError({
      detail: 'the hook resolveSources returned neither a tenant {id, sources} nor null',
    });
  return tenant;
};

const isTenant = (value: unknown): value is ResolvedTenant =>
  isObject(value) &&
  'id' in value &&
  typeof value.id === 'string' &&
  value.id !== '' &&
  'sources' in value &&
  isObject(value.sources);
