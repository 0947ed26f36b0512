import type { Readable } from 'node:stream';

/** A file part of a form: its field, submitted name (last path segment, valid UTF-8) and bytes. */
export interface UploadedContent {
  readonly field: string;
  readonly filename: string;
  open(): Readable;
}

/** The part of a request that hooks see. */
export interface HookRequest<Native = unknown> {
  /** Upper case. */
  readonly method: string;
  /** Path and query below the mount point, as sent: `/files?path=a`. */
  readonly url: string;
  /** Names in lower case; repeated headers are joined as in node:http. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The host's request: Express and node `req`, Fastify request, Hono context or web `Request`. */
  readonly native: Native;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** The requester: the role for access rules, and the user, for logs and hooks. */
export interface Identity {
  readonly role: string;
  readonly subject?: string | undefined;
}

/** A body that the host framework has already read. */
export interface ParsedBody {
  readonly fields: unknown;
  readonly files: readonly UploadedContent[];
  /** The host has read a body or its files, and stored them where this service cannot find them. */
  readonly isMissing?: boolean | undefined;
}

export interface ConnectorRequest extends HookRequest {
  /** The bridge knows that `url` begins at the mount. Else it may contain the prefix of the mount. */
  readonly isExact?: boolean | undefined;
  /** The peer address of the connection when the request arrived. */
  readonly peer?: string | undefined;
  /** The prefix that was removed from the URL: the path of the mount, such as `/api/connector`. */
  readonly mount?: string | undefined;
  /** The unread body. Undefined when there is none, or the host has read it. */
  readonly body: Readable | undefined;
  /** The body as parsed by the host, when its stream has been consumed. */
  readonly parsedBody?: ParsedBody | undefined;
}

/** A response of the core. Its receiver owns a stream body. */
export interface ConnectorResponse {
  readonly status: number;
  /** Reason phrase, printable ASCII, at most 120 characters; undefined: the default of the status. */
  readonly statusText?: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Readable | undefined;
}

/** The core of a connector: handles a request, never rejects. */
export type Handle = (request: ConnectorRequest) => Promise<ConnectorResponse>;

/** The outcome of a request, for metrics. */
export interface RequestOutcome {
  /** Name of the action, or `file` for a served file; undefined if it does not exist. */
  readonly action: string | undefined;
  /** 499: the client disconnected before it got a response. */
  readonly status: number;
  /** Length of the response according to its headers; undefined when it was not known in advance. */
  readonly bytes: number | undefined;
}

/**
 * Called when a request arrives; the returned function is called once, when the request has ended and its
 * response has been handed over. Failures of both are logged.
 */
export type RequestObserver = () => (outcome: RequestOutcome) => void;
