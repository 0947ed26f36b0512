import type { ActionServices } from './actions/action.ts';
import { compileRules, EVERYTHING } from './access/access.ts';
import { createTextLinks, type LinksIn, type RenewLinks } from './actions/texts/text-links.ts';
import { logConfiguration, prepare } from './checked-configuration.ts';
import { risksOnDisk } from './config/risks/setting-risks.ts';
import { riskLine } from './config/risks/value-risks.ts';
import { problemAt, unknownKey } from './config/problems.ts';
import { loadSources } from './config/sources.ts';
import type { ConfigInput, ConnectorConfig } from './config/types.ts';
import { ConfigError, InternalError, ShuttingDownError } from './errors/errors.ts';
import { createRulesFor, tenantOf, type ConnectorHooks, type ResolvedTenant } from './hooks.ts';
import type { WebhookFigures } from './config/event.ts';
import type { Handle, HookRequest, RequestObserver } from './http/message.ts';
import type { UrlFor } from './view/links.ts';
import { SourceViews } from './view/source-views.ts';
import { createProxyRole, createTokenRole } from './http/roles.ts';
import { createPipeline } from './http/pipeline.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { createClientNames } from './http/client-address.ts';
import { withOwnSignal } from './basics/concurrency/abort.ts';
import { createRedactingLogger, createStderrLogger, type Logger } from './basics/log/logger.ts';
import {
  createSourceGroup,
  createUnavailableSources,
  openAtStart,
  seenInTexts,
} from './sources/source-group.ts';
import type { SourceGroup } from './sources/source.ts';
import { TenantCache, type SourceLease } from './sources/tenants.ts';
import { createMemoryStaging, stageContent } from './storage/staging.ts';
import { closeInOrder, createServices, inspectionSettings } from './services.ts';
import { createState } from './operations/state/create-state.ts';
import type { StorageFactory } from './storage/registry.ts';
import { createResumableUploads } from './http/tus/resumable-uploads.ts';

/** Options of a connector besides configuration and hooks. */
export interface ConnectorOptions {
  /** Log for details that clients must not see. Default: JSON lines on standard error. */
  readonly logger?: Logger | undefined;
  /**
   * Storage adapters of this connector only, by the name that `storageAdapter` of a source refers to; they
   * add to those of `registerStorageAdapter`.
   */
  readonly storageAdapters?: Readonly<Record<string, StorageFactory>> | undefined;
  /** Called for every request, for metrics. */
  readonly observe?: RequestObserver | undefined;
  /** Sent as `X-App-Version` with every response. Standalone instances set it. */
  readonly version?: string | undefined;
  /** Whether request paths may still contain the prefix of the mount. Routers set it. */
  readonly isMounted?: boolean | undefined;
  /** The prefix of the mount, for links outside of requests, below `publicUrl`. Routers set it. */
  readonly mount?: string | undefined;
  /**
   * True: the connector handles requests and does no work of its own. It sends no webhooks, stores no shared
   * state, and leaves the leftovers of crashed processes in place.
   */
  readonly isInspection?: boolean | undefined;
}

/** Converts requests into responses, without a framework. Owns its caches, pools and stores. */
export interface Connector {
  /** Never rejects: every failure becomes a response. */
  readonly handle: Handle;
  /** @see Router.urlFor */
  readonly urlFor: UrlFor;
  readonly renewLinks: RenewLinks;
  readonly linksIn: LinksIn;
  /** @see App.unavailableSources */
  readonly unavailableSources: (timeoutMs: number) => Promise<readonly string[]>;
  /** @see App.webhooks */
  readonly webhooks: () => Promise<readonly WebhookFigures[]>;
  /** Closes stores, threads and browsers. Later requests get 503, except `/ping`. */
  close(): Promise<void>;
}

/** Divisor: uploaded pictures that wait for processing may take this fraction of `imageMemory`. */
const UPLOADS_SHARE = 8;

const createTenantCache = ({ dynamicSourcesCache }: ConnectorConfig['settings'], log: Logger): TenantCache =>
  new TenantCache(dynamicSourcesCache, (id) => {
    log.error(
      'resolveSources returned different sources for one id. Each request gets the sources that were returned ' +
        'for it, which are built anew each time: return an id of its own for each set of sources.',
      { id },
    );
  });

/** Without a request: the configured sources. */
type LeaseSources = (request: HookRequest | undefined) => Promise<SourceLease>;

/** Leases to each request the configured sources, or those of its tenant, until the connector closes. */
const createSourceLeasing = (
  statics: SourceGroup,
  tenants: TenantCache,
  hooks: ConnectorHooks,
  build: (tenant: ResolvedTenant) => SourceGroup,
  closing: AbortSignal,
): LeaseSources => {
  const shared: SourceLease = { sources: statics, extend: () => shared, release: () => undefined };
  return async (request) => {
    closing.throwIfAborted();
    const tenant = request && (await tenantOf(hooks, request));
    // The connector may have closed while the hook ran: building the tenant would open stores that stay open.
    closing.throwIfAborted();
    if (tenant === undefined) return shared;
    try {
      return tenants.acquire(tenant.id, tenant.sources, () => build(tenant));
    } catch (error) {
      throw new InternalError({ detail: 'the sources of resolveSources are not valid', cause: error });
    }
  };
};

/** Links outside of requests: the host's code sees every file, until the connector closes. */
const linksOf = (
  mounts: readonly string[],
  services: ActionServices,
  { statics, leaseSources }: { readonly statics: SourceGroup; readonly leaseSources: LeaseSources },
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Pick<Connector, 'urlFor' | 'renewLinks' | 'linksIn'> => ({
  urlFor: services.links.urlFor(mounts[0] ?? '', statics),
  ...createTextLinks({
    ...services,
    log,
    signal,
    inSources: async ({ base, request }, work) => {
      const unsaid = { method: 'GET', url: '/', headers: {}, native: undefined, signal };
      const lease = await leaseSources(request && { ...unsaid, ...request });
      try {
        const sources = seenInTexts(lease.sources, base === undefined ? mounts : [base, ...mounts]);
        return await withOwnSignal(signal, (own) =>
          work(new SourceViews(sources, EVERYTHING, { signal: own })),
        );
      } finally {
        lease.release();
      }
    },
  }),
});

/** Returns the function that finds the role of a request. */
const authenticationOf = (
  hooks: ConnectorHooks,
  { auth, defaultRole }: ConnectorConfig['settings'],
  log: Logger,
): ((request: HookRequest) => unknown) => {
  if (hooks.checkAuthentication !== undefined) return (request) => hooks.checkAuthentication?.(request);
  if (auth?.jwt !== undefined) return createTokenRole(auth.jwt, defaultRole, log);
  const { header, from } = auth ?? {};
  return header === undefined || from === undefined ? () => defaultRole : createProxyRole(header, from);
};

const OPTIONS: readonly string[] = ['logger', 'storageAdapters', 'observe'];
/** Options that routers and instances set themselves. */
const OWN_OPTIONS = ['version', 'isMounted', 'mount', 'isInspection'] as const;

export type OwnOption = (typeof OWN_OPTIONS)[number];

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Rejects options without effect, such as misspelled ones, and a logger that lacks a method. */
const checkedOptions = (options: ConnectorOptions): ConnectorOptions => {
  const { logger } = options;
  const lacking = LEVELS.filter((level) => logger !== undefined && typeof logger[level] !== 'function');
  if (lacking.length > 0)
    throw new ConfigError([problemAt(['options', 'logger'], `lacks the method ${lacking.join(', ')}`)]);
  const isKnown = (key: string): boolean => [...OPTIONS, ...OWN_OPTIONS].includes(key);
  const unknown = Object.keys(options).filter(
    (key) => !isKnown(key) && Reflect.get(options, key) !== undefined,
  );
  // Routers take the prefix out.
  const known = options.isMounted === undefined ? OPTIONS : [...OPTIONS, 'basePath'];
  if (unknown.length > 0)
    throw new ConfigError(unknown.map((key) => problemAt(['options', key], unknownKey(key, known))));
  return options;
};

/** Opens the stores, then warns about their roots: a disk that hangs gets no more requests. */
const startSources = async (sources: SourceGroup, config: ConnectorConfig, log: Logger): Promise<void> => {
  await openAtStart(sources, log);
  for (const risk of await risksOnDisk(config)) log.warn(riskLine(risk));
};

/** Handles requests. Its `close` resolves when none is running. */
const untilClosed = (pipeline: Handle) => {
  const running = new Set<Promise<unknown>>();
  const handle: Handle = (request) => {
    const handled = pipeline(request).finally(() => running.delete(handled));
    running.add(handled);
    return handled;
  };
  return { handle, close: async () => void (await Promise.allSettled(running)) };
};

/**
 * Builds a connector: checks the configuration and starts to open the configured stores.
 * @throws ConfigError listing every problem of the configuration, or of the hooks.
 */
export const createConnector = <Native>(
  input: ConfigInput | null | undefined,
  given: ConnectorHooks<Native> = {},
  options: ConnectorOptions = {},
): Connector => {
  // Only the host knows the type of `native`.
  const hooks = given as ConnectorHooks;
  const { logger = createStderrLogger(), isInspection = false } = checkedOptions(options);
  const log = createRedactingLogger(logger);
  const checked = prepare(input, hooks, options.storageAdapters);
  const { config, factories, actions, ruleKeys } = logConfiguration(checked, log);
  const settings = isInspection ? inspectionSettings(config.settings) : config.settings;

  const statics = createSourceGroup(config.sources, { factories, log, sweeps: !isInspection });
  const started = isInspection ? undefined : startSources(statics, config, log);
  const tenants = createTenantCache(settings, log);
  const rulesFor = createRulesFor(hooks, ruleKeys, compileRules(settings.accessControl, ruleKeys), log);
  const { state, redis } = createState(settings, log);
  const stageInMemory = createMemoryStaging(settings.imageMemory / UPLOADS_SHARE);
  const services = createServices(settings, hooks, state, log);
  const closing = new AbortController();
  const { signal } = closing;
  const build = ({ id, sources }: ResolvedTenant): SourceGroup =>
    createSourceGroup(loadSources(sources, settings, factories), { factories, log, tenant: id });
  const resolveSources = createSourceLeasing(statics, tenants, hooks, build, signal);
  const rateLimits = settings.rateLimits && createRateLimits(settings.rateLimits, redis);
  const unavailableSources = createUnavailableSources(statics, log);
  const resumable = createResumableUploads(settings, services.quotas, log);
  const mounts = [settings.publicUrl, options.mount].filter((mount) => mount !== undefined);
  let closed: Promise<void> | undefined;
  const pipeline = createPipeline({
    settings,
    actions,
    services,
    log,
    version: options.version,
    isMounted: options.isMounted,
    observe: options.observe,
    resolveSources,
    authenticate: authenticationOf(hooks, settings, log),
    accessFor: async (identity, request) => (await rulesFor(request, identity)).forRole(identity.role),
    isOriginAllowed: hooks.allowedOrigins?.bind(hooks),
    stageUpload: (storage, content, { isReadWhole, near, signal }) =>
      (isReadWhole ? stageInMemory : stageContent)(storage, content, { near, signal }),
    rateLimits,
    resumable,
    clientOf: createClientNames(settings.trustedProxies, log),
  });
  const requests = untilClosed(pipeline);
  return {
    handle: requests.handle,
    ...linksOf(mounts, services, { statics, leaseSources: resolveSources }, { log, signal }),
    unavailableSources: async (timeoutMs) =>
      closed === undefined ? unavailableSources(timeoutMs) : statics.all.map(({ name }) => name),
    webhooks: () => services.events.webhooks(),
    close: () => {
      closing.abort(new ShuttingDownError());
      const stores = [statics, tenants, { close: async () => started }];
      return (closed ??= closeInOrder(services, [requests, resumable], state, { stores, log }));
    },
  };
};
