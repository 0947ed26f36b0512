export const eventTypes = [
  'file.created',
  'file.replaced',
  'file.moved',
  'file.copied',
  'file.removed',
  'file.restored',
  'file.described',
  'folder.created',
  'folder.moved',
  'folder.copied',
  'folder.removed',
  'folder.restored',
  'trash.removed',
  'trash.emptied',
  'image.edited',
  'document.made',
] as const;

export type EventType = (typeof eventTypes)[number];

/** The result of the inspection of stored content: see `inspection` and the hook `inspectUpload`. */
export interface InspectionVerdict {
  /** `skipped`: clamd was not called, or not available. */
  readonly verdict: 'clean' | 'skipped';
  /** Reason of `skipped`: larger than `maxBytes`, or clamd was not available. */
  readonly reason?: 'larger' | 'unavailable';
}

/** An event before or after a change of a source. Plain data. */
export interface ServiceEvent {
  readonly type: EventType;
  /** ISO 8601, in UTC. */
  readonly time: string;
  /** As in `X-Request-Id` of the response, and in the log. */
  readonly requestId: string;
  /** The tenant, where `resolveSources` returned the source. */
  readonly tenant?: string | undefined;
  /** Name of the source; absent for documents. */
  readonly source?: string | undefined;
  /**
   * Path inside the source, without a leading slash; the name of a document; the original path of an item
   * that is erased from the trash; empty for the whole trash.
   */
  readonly path: string;
  /** The former path, or the original of a copy or an edit. */
  readonly from?: string | undefined;
  /** The source of `from`, when it is another one. */
  readonly fromSource?: string | undefined;
  /** Size of a file, or of a folder that goes into the trash, where it is known. */
  readonly bytes?: number | undefined;
  /**
   * URLs of the item at its path: for a file its own, and those of its thumbnail and variants, without
   * signatures; for a folder the prefix of its content. Absent before the change, and where the item has no
   * URL.
   */
  readonly links?: readonly string[] | undefined;
  /** Former URLs of an item that was moved, removed or restored. */
  readonly oldLinks?: readonly string[] | undefined;
  /** Result of inspected content; for a folder `skipped` if any of its files was. */
  readonly inspection?: InspectionVerdict | undefined;
  readonly role: string;
  /** The user, if `checkAuthentication` names one. */
  readonly subject?: string | undefined;
}

/** State of a webhook in this process. */
export interface WebhookFigures {
  /** Host of the receiver, with its port. */
  readonly host: string;
  /** Pending events; undefined while the queue is not available. */
  readonly waiting: number | undefined;
  /** Age of the oldest pending event in seconds; 0 without one, undefined as for `waiting`. */
  readonly oldestSeconds: number | undefined;
  /** Since the start: accepted deliveries, failed attempts, and lost events. */
  readonly delivered: number;
  readonly failed: number;
  readonly dropped: number;
}

/** A receiver of events. */
export interface EventSink {
  /** Accepts an event; resolves once the event will survive a restart, if the sink guarantees that. */
  take(event: ServiceEvent): Promise<void>;
  /** State for monitoring; absent where there is none. Never rejects. */
  figures?(): Promise<WebhookFigures>;
  close(): Promise<void>;
}
