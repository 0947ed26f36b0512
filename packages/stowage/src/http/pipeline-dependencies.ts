import type { Readable } from 'node:stream';
import type { Access } from '../access/access.ts';
import type { Action, ActionServices } from '../actions/action.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Settings } from '../config/settings.ts';
import type { ConnectorHooks } from '../hooks.ts';
import type { TextBounds } from '../parameters/fields.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { StagedFile, StageOptions, StorageAdapter } from '../storage/adapter.ts';
import type { BodyTimes } from './body/pour.ts';
import type { ClientNames } from './client-address.ts';
import type { HookRequest, Identity, RequestObserver } from './message.ts';
import type { RateLimits } from './rate-limits.ts';
import type { ResumableUploads } from './tus/resumable-uploads.ts';

/**
 * Stores content as a staged file: close to its destination if possible, or in memory if it will be read
 * completely and is rarely stored unchanged. Owns the content.
 */
export type StageUpload = (
  storage: StorageAdapter,
  content: Readable,
  options: StageOptions & { readonly isReadWhole: boolean },
) => Promise<StagedFile>;

/** The dependencies of the HTTP layer. Functions that call hooks may throw the errors of the hooks. */
export interface PipelineDependencies {
  readonly settings: Settings;
  readonly actions: ReadonlyMap<string, Action>;
  readonly services: ActionServices;
  readonly log: Logger;
  /** Sent with every response as `X-App-Version`: standalone instances only. */
  readonly version?: string | undefined;
  readonly observe?: RequestObserver | undefined;
  /** Whether URLs may still contain the prefix of a mount: not every framework removes it. */
  readonly isMounted?: boolean | undefined;
  /** Leases the sources for a request; the HTTP layer releases them when the request has ended. */
  readonly resolveSources: (request: HookRequest) => Promise<SourceLease>;
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (identity: Identity, request: HookRequest) => Access | Promise<Access>;
  readonly isOriginAllowed?: ConnectorHooks['allowedOrigins'];
  readonly stageUpload: StageUpload;
  readonly rateLimits?: RateLimits | undefined;
  /** @see ClientNames */
  readonly clientOf: ClientNames;
  /** Resumable uploads; undefined when disabled. */
  readonly resumable?: ResumableUploads | undefined;
  /** Time limits of bodies; default: `bodyTimes`. */
  readonly times?: BodyTimes | undefined;
}

/** The HTTP layer of one connector: its dependencies, and values derived from them once. */
export interface Edge extends PipelineDependencies {
  readonly bounds: TextBounds;
}
