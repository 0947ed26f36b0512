import type { Readable } from 'node:stream';

/** A file part of a form: its field, the name as sent (last path segment, valid UTF-8) and its bytes. */
export interface UploadedContent {
  readonly field: string;
  readonly filename: string;
  open(): Readable;
}

/** What a hook sees of a request. */
export interface HookRequest<Native = unknown> {
  /** Upper case. */
  readonly method: string;
  /** Path and query below the mount point, as sent: `/files?path=a`. */
  readonly url: string;
  /** Names in lower case; several values joined as node:http joins them. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * What the host knows: Express and node `req` (with its session), Fastify request, Hono context, web
   * `Request`.
   */
  readonly native: Native;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

/** Who asks: the role that access rules speak of, and the user, for logs and hooks. */
export interface Identity {
  readonly role: string;
  readonly subject?: string | undefined;
}

/** A body that a host framework has read before. */
export interface ParsedBody {
  readonly fields: unknown;
  readonly files: readonly UploadedContent[];
  /** The host has read a body, or files in it, and kept them where this service does not find them. */
  readonly isMissing?: boolean | undefined;
}

/** A request as the core takes it. */
export interface ConnectorRequest extends HookRequest {
  /**
   * The bridge knows that `url` begins at the mount. Otherwise the prefix of a mounted connector may still
   * stand in it.
   */
  readonly isExact?: boolean | undefined;
  /** The address of the other end of the connection, as it was when the request arrived. */
  readonly peer?: string | undefined;
  /**
   * What the bridge or the framework has cut from the URL: the path that the connector is mounted below,
   * `/api/connector`.
   */
  readonly mount?: string | undefined;
  /** The unread body. Undefined when there is none or the host has read it. */
  readonly body: Readable | undefined;
  /** The body as the host has parsed it, when its stream is spent. */
  readonly parsedBody?: ParsedBody | undefined;
}

/** An answer of the core. The receiver of the answer owns a stream body. */
export interface ConnectorResponse {
  readonly status: number;
  /** Reason phrase, printable ASCII, at most 120 characters; undefined: the status's usual one. */
  readonly statusText?: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Readable | undefined;
}

/** The core of a connector: answers a request, never rejects. */
export type Handle = (request: ConnectorRequest) => Promise<ConnectorResponse>;

/** What became of a request. */
export interface RequestOutcome {
  /** The name of an action, `file` for a file itself; undefined: none that exists. */
  readonly action: string | undefined;
  readonly status: number;
  /** Length of the answer as it was announced; undefined: not known when it began. */
  readonly bytes: number | undefined;
}

/**
 * Is called when a request begins; what it returns is called once, when the request has ended and its answer
 * has been handed over. Must not throw.
 */
export type RequestObserver = () => (outcome: RequestOutcome) => void;
