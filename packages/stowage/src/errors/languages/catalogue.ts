import { type DetailedCode, detailedMessages, type ErrorCode, errorTable } from '../table.ts';
import type { Phrases } from './phrases.ts';

/** All messages of errors in one language. The values of an error stand in braces: `{name}`. */
export interface Catalogue {
  /** When nothing more exact is known. */
  readonly messages: Readonly<Record<ErrorCode, string>>;
  /** With the values of the error. */
  readonly detailed: Readonly<Record<DetailedCode, string>>;
  /** Beside the error of a form with several files. */
  readonly nothingUploaded: string;
  readonly nothingUploadedBecause: string;
  /** What English texts say more exactly; English needs none. */
  readonly phrases?: Phrases;
}

/** The error table itself. */
export const english: Catalogue = {
  messages: Object.fromEntries(
    Object.entries(errorTable).map(([code, { message }]) => [code, message]),
  ) as Record<ErrorCode, string>,
  detailed: detailedMessages,
  nothingUploaded: 'Nothing was uploaded.',
  nothingUploadedBecause: 'Nothing was uploaded because of "{name}".',
};
