import { setMaxListeners } from 'node:events';
import type { Access } from '../access/access.ts';
import type { ActionContext } from '../actions/action.ts';
import type { UploadedFile } from '../actions/uploaded-file.ts';
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
  life: Pick<HookRequest, 'signal'>,
  keptRoom?: string,
): ActionContext => ({
  sources: lease.sources,
  access,
  requester: { requestId: scope.about.id, role: access.role, subject: scope.about.subject },
  uploads,
  services,
  keptRoom,
  log,
  holdSources: holderOf(lease),
  atEnd: (work) => scope.atEnd(work),
  // Made when somebody asks for it: signals are expensive, and many actions have no use for one.
  get signal() {
    const { signal } = life;
    // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
    // bound.
    setMaxListeners(0, signal);
    return signal;
  },
});

/** Counts a request once, as soon as it is known which action it asks for. @see Admit */
export const createAdmission = (
  { actions, rateLimits }: PipelineDependencies,
  request: ConnectorRequest,
  { about }: RequestScope,
): Admit => {
  let counted: Promise<void> | undefined;
  return async (actionName = '') => {
    const load = rateLimits && actions.get(actionName)?.load;
    if (load !== undefined) await (counted ??= rateLimits?.count(load, request, about.subject));
  };
};
