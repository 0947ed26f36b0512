import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { WebhookFigures } from '../config/event.ts';
import type { RequestObserver } from '../http/message.ts';
import type { App } from '../app.ts';
import type { Address } from '../config/environment.ts';
import { orUndefined } from '../errors/errors.ts';

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface Durations {
  /** Number of requests by the smallest bucket that contains their duration; the last has slower ones. */
  readonly counts: number[];
  seconds: number;
}

/** Counts requests, and formats metrics for Prometheus. Labels are only actions and statuses. */
export class Metrics {
  #open = 0;
  #bytes = 0;
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();

  readonly observe: RequestObserver = () => {
    const began = performance.now();
    this.#open += 1;
    return ({ action = 'other', status, bytes = 0 }) => {
      this.#open -= 1;
      this.#bytes += bytes;
      const labels = `action="${action}",status="${String(status)}"`;
      this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
      this.#addDuration(action, (performance.now() - began) / 1000);
    };
  };

  /** @see https://prometheus.io/docs/instrumenting/exposition_formats/ */
  text(webhooks: readonly WebhookFigures[]): string {
    const { rss, heapUsed } = process.memoryUsage();
    const requests = [...this.#requests].map(([labels, count]) => ({ labels, value: count }));
    return [
      family('stowage_requests_total', 'counter', 'Requests by action and status.', requests),
      this.#histogram(),
      family('stowage_answer_bytes_total', 'counter', 'Bytes of answers of known length.', [
        { value: this.#bytes },
      ]),
      family('stowage_open_requests', 'gauge', 'Requests that are being answered.', [{ value: this.#open }]),
      ...webhookFamilies(webhooks),
      family('process_resident_memory_bytes', 'gauge', 'Memory of the process.', [{ value: rss }]),
      family('nodejs_heap_used_bytes', 'gauge', 'Memory of JavaScript.', [{ value: heapUsed }]),
    ].join('');
  }

  #addDuration(action: string, seconds: number): void {
    const durations = this.#durations.get(action) ?? {
      counts: Array.from({ length: BUCKETS.length + 1 }, () => 0),
      seconds: 0,
    };
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    const at = bucket === -1 ? BUCKETS.length : bucket;
    durations.counts[at] = (durations.counts[at] ?? 0) + 1;
    durations.seconds += seconds;
    this.#durations.set(action, durations);
  }

  #histogram(): string {
    const name = 'stowage_request_duration_seconds';
    const samples = [...this.#durations].flatMap(([action, { counts, seconds }]) => {
      let sum = 0;
      const labels = `action="${action}"`;
      const buckets = counts.map((count, index) => {
        sum += count;
        const bound = String(BUCKETS[index] ?? '+Inf');
        return { suffix: '_bucket', labels: `${labels},le="${bound}"`, value: sum };
      });
      return [
        ...buckets,
        { suffix: '_sum', labels, value: seconds },
        { suffix: '_count', labels, value: sum },
      ];
    });
    return family(name, 'histogram', 'Time from a request to the end of its answer.', samples);
  }
}

interface Sample {
  readonly suffix?: string;
  readonly labels?: string;
  readonly value: number;
}

const family = (name: string, type: string, help: string, samples: readonly Sample[]): string => {
  const lines = samples.map(
    ({ suffix = '', labels, value }) =>
      `${name}${suffix}${labels === undefined ? '' : `{${labels}}`} ${String(value)}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
};

/** One sample for each webhook, by its number in the setting and its host. */
const webhookFamilies = (webhooks: readonly WebhookFigures[]): readonly string[] => {
  if (webhooks.length === 0) return [];
  const of = (name: string, type: string, help: string, figure: keyof Omit<WebhookFigures, 'host'>): string =>
    family(
      `stowage_webhook_${name}`,
      type,
      help,
      webhooks.flatMap((one, index) => {
        const value = one[figure];
        return value === undefined
          ? []
          : [{ labels: `webhook="${String(index)}",host="${one.host}"`, value }];
      }),
    );
  return [
    of('waiting_events', 'gauge', 'Events that wait for a webhook.', 'waiting'),
    of('oldest_event_seconds', 'gauge', 'Age of the oldest event that waits.', 'oldestSeconds'),
    of('deliveries_total', 'counter', 'Deliveries that were accepted.', 'delivered'),
    of('failures_total', 'counter', 'Attempts to deliver that failed.', 'failed'),
    of('dropped_total', 'counter', 'Events that were given up or could not be kept.', 'dropped'),
  ];
};

const respond = (response: ServerResponse, status: number, text: string, headers = {}): void => {
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...headers });
  response.end(text);
};

/** Runs one call at a time; concurrent callers share its result. */
const shared = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= work().finally(() => (running = undefined));
    return running;
  };
};

/** Health and metrics on their own port: no hook, rule or setting applies. */
export const createHealth = (
  metrics: Metrics,
  { unavailableSources, webhooks }: Pick<App, 'unavailableSources' | 'webhooks'>,
) => {
  const unavailable = shared(() => unavailableSources());
  const figures = shared(webhooks);
  let isStopping = false;

  const respondReady = async (response: ServerResponse): Promise<void> => {
    if (isStopping) return respond(response, 503, 'stopping\n');
    const names = await unavailable();
    if (names.length === 0) return respond(response, 200, 'ready\n');
    respond(response, 503, names.map((name) => `not available: ${JSON.stringify(name)}\n`).join(''));
  };

  const respondMetrics = async (response: ServerResponse): Promise<void> => {
    const all = await figures();
    // The memory of the process cannot be read while it has no descriptor left.
    const text = orUndefined(() => metrics.text(all));
    respond(response, text === undefined ? 503 : 200, text ?? 'not available\n');
  };

  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD')
      respond(response, 405, 'GET or HEAD\n', { allow: 'GET, HEAD' });
    else if (path === '/live') respond(response, 200, 'live\n');
    else if (path === '/metrics') void respondMetrics(response);
    else if (path === '/ready') void respondReady(response);
    else respond(response, 404, '/live, /ready or /metrics\n');
  });

  return {
    /** Returns the address. Rejects when it is not available. */
    listen: async ({ port, host }: Address): Promise<Address> => {
      server.listen(port, host);
      await once(server, 'listening');
      return { host, port: (server.address() as AddressInfo).port };
    },
    /** Reports the service as not ready from now on. */
    drain: (): void => {
      isStopping = true;
    },
    close: async (): Promise<void> => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

export type Health = ReturnType<typeof createHealth>;
