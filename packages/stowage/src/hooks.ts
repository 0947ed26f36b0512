import type { FindUses } from './actions/file-uses.ts';
import { compileRules, type RuleBook, type RuleKeys } from './access/access.ts';
import { type AccessRule, loadAccessRules, unknownKeyWarnings } from './config/access-rules.ts';
import { hintAt, mustBe, problemAt, unknownKey } from './config/problems.ts';
import type { SourcesInput } from './config/types.ts';
import { ConfigError, InternalError, isHttpError, StowageError } from './errors/errors.ts';
import type { ServiceEvent } from './config/event.ts';
import type { HookRequest, Identity } from './http/message.ts';
import type { DescribePicture } from './operations/describing/describer.ts';
import type { InspectUpload } from './operations/inspection/inspector.ts';
import type { SvgGenerator } from './pictures/kept/thumbnails.ts';
import type { Logger } from './basics/log/logger.ts';

/**
 * What `resolveSources` returns for a tenant: its key in the cache and its sources, written as in a
 * configuration.
 */
export interface ResolvedTenant {
  readonly id: string;
  readonly sources: SourcesInput;
}

/**
 * Code of the host that a connector calls. Every hook may be synchronous or asynchronous. `Native` is what
 * the host's framework hands on as `request.native`: `ConnectorHooks<express.Request>`.
 */
export interface ConnectorHooks<Native = unknown> {
  /**
   * The role of the request, or role and user (`{ role, subject }`): the log names the user, and
   * `accessControl` gets both. Runs on every request; without it every request has `defaultRole`. Throw
   * `HttpError` to reject the request with a status of your choice; any other exception, and any other
   * result, answers 500.
   */
  readonly checkAuthentication?: (
    request: HookRequest<Native>,
  ) => string | Identity | Promise<string | Identity>;
  /** The sources of the request's tenant; null or undefined: the configured sources serve it. */
  readonly resolveSources?: (
    request: HookRequest<Native>,
  ) => ResolvedTenant | null | undefined | Promise<ResolvedTenant | null | undefined>;
  /** Access rules that replace the configured ones for this request. */
  readonly accessControl?: (
    request: HookRequest<Native>,
    identity: Identity,
  ) => readonly AccessRule[] | Promise<readonly AccessRule[]>;
  /**
   * Whether the origin is accepted; replaces the setting `allowedOrigins`. Only asked while
   * `allowCrossOrigin` is on.
   */
  readonly allowedOrigins?: (origin: string, request: HookRequest<Native>) => boolean | Promise<boolean>;
  /**
   * Asked before every change, when all else allows it. Throw `HttpError` to refuse it. For new
   * files and folders (`file.created`, `folder.created`), and for what is moved, renamed or copied, a text
   * that it returns is the name that they get instead, checked as the first one.
   */
  readonly beforeEvent?: (
    event: ServiceEvent,
  ) => string | null | undefined | void | Promise<string | null | undefined | void>;
  /**
   * Inspects all content that users send or fetch, as it came, before anything decodes, names or stores it. A
   * text that it returns is the reason for which the content is refused (422); throw `HttpError` for another
   * status. Any other exception, and any other result, answers 500, and nothing is stored.
   */
  readonly inspectUpload?: InspectUpload;
  /**
   * Which of the host's pages show a file: people read their titles before they remove, rename, move or replace
   * it. Asked by `fileUses`, only about files that exist and that the requester may see.
   */
  readonly findUses?: FindUses;
  /**
   * Says what a stored picture shows. Asked after the answer to an upload, two pictures at a time, for a minute at
   * most each, and by `stowage describe`. Only fields that are empty are filled; a failure is logged.
   */
  readonly describePicture?: DescribePicture;
  /** Told of every change after it. The answer does not wait for it; a failure is logged. */
  readonly onEvent?: (event: ServiceEvent) => unknown;
  /** Draws the icon of an entry: returns SVG markup, with names escaped. */
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

/** Whether an object was made by a class, whose fields and private methods are its own matter. */
const isInstance = (hooks: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(hooks);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
};

/**
 * What may be meant as hooks: all members of a plain object; of an instance its methods, as far as they
 * resemble hooks.
 */
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
    .map((name) => [name, (hooks as Record<string, unknown>)[name]] as const)
    .filter(
      ([name, hook]) =>
        Object.hasOwn(hookNames, name) ||
        (typeof hook === 'function' && hintAt(name, Object.keys(hookNames)) !== ''),
    );
};

/**
 * Refuses hooks that would never be called: a misspelt `checkAuthentication` would let everybody in, and so
 * would a function in place of the object.
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

/** So many faults of the rules of a hook are told, each once. */
const MOST_TOLD = 100;

/**
 * Gives the rules in force for a request: the hook's, else the configured ones. A list that the hook returns
 * again is checked and compiled once, as long as it says the same. Keys that no action has are told the log.
 * @throws whatever the hook throws; ConfigError for rules that are not valid.
 */
export const createRulesFor = (
  hooks: ConnectorHooks,
  keys: RuleKeys,
  configured: RuleBook,
  log: Pick<Logger, 'warn'>,
): ((request: HookRequest, identity: Identity) => Promise<RuleBook>) => {
  const compiled = new WeakMap<object, { readonly text: string; readonly rules: RuleBook }>();
  const told = new Set<string>();
  const tell = (warning: string): void => {
    if (told.has(warning) || told.size === MOST_TOLD) return;
    told.add(warning);
    log.warn(warning);
  };
  return async (request, identity) => {
    if (hooks.accessControl === undefined) return configured;
    const list = await hooks.accessControl(request, identity);
    // A host may change its list in place: a rule that it has added must not be missed.
    const text = JSON.stringify(list, (_key, value: unknown) => value ?? null);
    const known = isObject(list) ? compiled.get(list) : undefined;
    if (known?.text === text) return known.rules;
    const loaded = loadAccessRules(list);
    unknownKeyWarnings(loaded, keys.keys()).forEach(tell);
    const rules = compileRules(loaded, keys);
    compiled.set(list, { text, rules });
    return rules;
  };
};

/**
 * What a failed hook means for its request: an `HttpError` stays, anything else is an internal error. That
 * includes our own errors about requests, which a hook may meet when it works with a store: they are not
 * about this request.
 */
export const asHookFailure = (error: unknown, hook: keyof ConnectorHooks): unknown => {
  if (isHttpError(error) || (error instanceof StowageError && error.status >= 500)) return error;
  return new InternalError({ detail: `the hook ${hook} failed`, cause: error });
};

/** Waits for a hook and turns its failure into ours. */
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
 * The tenant of the request, checked in its outline; undefined: the configured sources serve it.
 * @throws whatever the hook throws; InternalError for a result that is not a tenant.
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
