import type { Client, PermissionsData } from '../client/index.ts';

/** `fileUses`, which connectors of this version do not have yet, as the protocol describes it. */
export type FullClient = Client & {
  readonly fileUses: (
    parameters: { readonly source: string; readonly path: string; readonly name: string },
    options: { readonly signal: AbortSignal },
  ) => Promise<{ readonly uses: readonly { readonly title: string; readonly url: string }[] }>;
};

export type Permissions = Partial<PermissionsData['permissions'] & { readonly allowFileUses: boolean }>;
