import type { Client, PermissionsData } from '../client/index.ts';
import type { About } from './options.ts';

/** Actions that connectors of this version do not have yet, as the protocol describes them. */
interface ComingActions {
  readonly fileDescribe: (parameters: object) => Promise<unknown>;
  readonly fileUses: (
    parameters: { readonly source: string; readonly path: string; readonly name: string },
    options: { readonly signal: AbortSignal },
  ) => Promise<{ readonly uses: readonly { readonly title: string; readonly url: string }[] }>;
}

export type FullClient = Client & ComingActions;

export type Permissions = Partial<
  PermissionsData['permissions'] & { readonly allowFileDescribe: boolean; readonly allowFileUses: boolean }
>;

/** The words in an item of an answer. */
export const aboutOf = (item: object): About | undefined => (item as { readonly about?: About }).about;
