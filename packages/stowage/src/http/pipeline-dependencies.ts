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
 * Stores content without a name, as near to the store as it can, or in memory where it is to be read whole
 * and rarely stored as it is. Owns the content.
 */
export type StageUpload = (
  storage: StorageAdapter,
  content: Readable,
  options: StageOptions & { readonly isReadWhole: boolean },
) => Promise<StagedFile>;

/**
 * All that the edge needs of the rest of the service. Functions that call hooks may throw whatever the hooks
 * throw.
 */
export interface PipelineDependencies {
  readonly settings: Settings;
  readonly actions: ReadonlyMap<string, Action>;
  readonly services: ActionServices;
  readonly log: Logger;
  /** Sent with every answer as `X-App-Version`: standalone instances only. */
  readonly version?: string | undefined;
  readonly observe?: RequestObserver | undefined;
  /** Whether URLs may still carry the prefix of a mount: not every framework cuts it. */
  readonly isMounted?: boolean | undefined;
  /** The sources for a request; the edge gives them back when the request has ended. */
  readonly resolveSources: (request: HookRequest) => Promise<SourceLease>;
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (identity: Identity, request: HookRequest) => Access | Promise<Access>;
  readonly isOriginAllowed?: ConnectorHooks['allowedOrigins'];
  readonly stageUpload: StageUpload;
  readonly rateLimits?: RateLimits | undefined;
  /** @see ClientNames */
  readonly clientOf: ClientNames;
  /** Uploads in parts; undefined: they are off. */
  readonly resumable?: ResumableUploads | undefined;
  /** How long bodies may take; else as long as `bodyTimes` says. */
  readonly times?: BodyTimes | undefined;
}

/** The edge of one connector: what it was given, and what it has made of that once. */
export interface Edge extends PipelineDependencies {
  /** Of all parameters that any action takes. */
  readonly bounds: TextBounds;
}
