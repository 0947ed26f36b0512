import { setMaxListeners } from 'node:events';
import type { Access } from '../access/access.ts';
import type { ActionContext, Load } from '../actions/action.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { PipelineDependencies } from './dependencies.ts';
import type { ConnectorRequest, HookRequest } from './message.ts';
import type { RequestScope } from './request-scope.ts';
import type { Admit } from './upload-receiver.ts';

/** What a request is answered with, when it is known who asks. */
export interface Granted {
  readonly access: Access;
  readonly lease: SourceLease;
  readonly scope: RequestScope;
}

/** Keeps the sources of a lease open beyond the request; returns the way to give them back. */
export const holderOf = (lease: SourceLease) => (): (() => void) => {
  const longer = lease.extend();
  return () => longer.release();
};

/** All that an action is to know of its request, whose files are `uploads`. */
export const createActionContext = (
  { services, log }: PipelineDependencies,
  { access, lease, scope }: Granted,
  uploads: readonly UploadedFile[],
  life: Pick<HookRequest, 'signal' | 'method'>,
  keptRoom?: string,
): ActionContext => ({
  sources: lease.sources,
  access,
  requester: { requestId: scope.about.id, role: access.role, subject: scope.about.subject },
  uploads,
  services,
  keptRoom,
  isHead: life.method === 'HEAD',
  otherField: scope.form.otherField,
  log,
  holdSources: holderOf(lease),
  atEnd: (work) => scope.atEnd(work),
  // Made at its first use: signals are expensive, and many actions have no use for one.
  get signal() {
    const { signal } = life;
    // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
    // bound.
    setMaxListeners(0, signal);
    return signal;
  },
});

/** The tenant whose sources serve a request. */
export const tenantOf = ({ sources }: SourceLease): string | undefined =>
  sources.all.find(({ tenant }) => tenant !== undefined)?.tenant;

/**
 * Counts a request once for each kind of load, as soon as it is known which action it asks for: a form may
 * hold files before it names another action than an upload. @see Admit
 */
export const createAdmission = (
  { actions, rateLimits, clientOf }: PipelineDependencies,
  request: ConnectorRequest,
  { about }: RequestScope,
  lease: SourceLease,
): Admit => {
  const counted = new Map<Load, Promise<void>>();
  return async (actionName = '', parameters) => {
    const load = rateLimits && actions.get(actionName)?.load;
    const known = typeof load === 'function' ? parameters && load(parameters) : load;
    if (rateLimits === undefined || known === undefined) return;
    let counting = counted.get(known);
    if (counting === undefined) {
      counting = rateLimits.count(known, clientOf(request, about.subject, tenantOf(lease)));
      counted.set(known, counting);
    }
    await counting;
  };
};
