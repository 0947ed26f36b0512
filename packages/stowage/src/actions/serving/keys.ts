import type { Access } from '../../access/access.ts';
import { extensionOf } from '../../basics/content/extension.ts';
import type { SourcePath } from '../../storage/source-path.ts';

/** The keys that a link to a file or its thumbnail needs, in sources where rules count for links. */
export const FILE_KEYS: readonly string[] = ['FILE_DOWNLOAD'];

/** The keys that a link to a variant needs: it shows the file too. */
export const VARIANT_KEYS: readonly string[] = [...FILE_KEYS, 'IMAGE_VARIANT'];

/** Whether the rules let somebody have a file by a link. */
export const mayOpen = (access: Access, path: SourcePath): boolean =>
  FILE_KEYS.every((key) => access.allows(key, path, extensionOf(path.name)));
