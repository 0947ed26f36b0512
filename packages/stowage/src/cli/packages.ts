import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isPlainObject } from '../config/plain-values.ts';
import { entryOf, type OptionalPackage } from '../optional-packages.ts';

/** What any service may need some day: actions of the protocol, and photos of phones. */
export const partPackages: readonly OptionalPackage[] = [
  { name: 'puppeteer-core', purpose: 'PDF files' },
  { name: 'docx', purpose: 'DOCX files' },
  { name: 'parse5', purpose: 'DOCX files' },
  { name: 'heic-decode', purpose: 'HEIC pictures with uploadImages' },
];

const versionIn = async (file: string, name: string): Promise<string | undefined> => {
  try {
    const manifest: unknown = JSON.parse(await readFile(file, 'utf8'));
    const version = isPlainObject(manifest) && manifest['name'] === name ? manifest['version'] : undefined;
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
};

/** The version of a package as this service would load it; undefined when it is not installed. */
export const installedVersion = async (name: string): Promise<string | undefined> => {
  const entry = entryOf(name);
  if (entry === undefined) return undefined;
  // Not every package exports its manifest.
  for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
    const version = await versionIn(join(folder, 'package.json'), name);
    if (version !== undefined) return version;
  }
  return 'unknown';
};
