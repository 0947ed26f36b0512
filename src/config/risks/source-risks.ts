import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, parse, relative } from 'node:path';
import { isPlainObject, type PlainObject } from '../plain-values.ts';
import type { SourceConfig } from '../types.ts';
import type { SettingRisk } from './risk.ts';

/** What lies in the folder of a program, and never in one of pictures and documents. */
const OF_PROGRAMS = ['package.json', 'node_modules', '.git', '.env', 'stowage.json', 'composer.json'];

const holds = (outer: string, inner: string): boolean => {
  const path = relative(outer, inner);
  return path === '' || (!path.startsWith('..') && !isAbsolute(path));
};

/** What a root holds besides files for an editor; undefined when nothing tells. */
const strangeIn = (root: string): string | undefined => {
  if (root === parse(root).root) return 'is the whole file system';
  if (root === homedir()) return 'is the home directory of the user that the service runs as';
  const found = OF_PROGRAMS.find((name) => existsSync(join(root, name)));
  if (found !== undefined) return `holds ${found}, and so is the folder of a program`;
  return holds(root, process.cwd())
    ? 'holds the directory that the service runs in, and what is configured there'
    : undefined;
};

const rootRisks = ({ key, root, storageAdapter, settings }: SourceConfig): readonly SettingRisk[] => {
  const strange = storageAdapter === 'local' && root !== undefined ? strangeIn(root) : undefined;
  if (strange === undefined) return [];
  const open = settings.serve === 'public' ? ', and everybody can download it' : '';
  return [
    {
      key: `sources.${key}.root`,
      text: `${String(root)} ${strange}: whoever may use the source can list and change all of it${open}`,
      fix: 'Give the source a folder of its own: "root": "/srv/photos".',
    },
  ];
};

/** Regions as Amazon names them. */
const REGION =
  /^(?:af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(?:-gov|-iso[a-z]?|-[a-z]{2})?-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-\d$/u;

const s3Risks = (key: string, { region, endpoint, bucket }: PlainObject): readonly SettingRisk[] => {
  const at = `sources.${key}.s3`;
  if (typeof endpoint !== 'string')
    return typeof region !== 'string' || REGION.test(region)
      ? []
      : [
          {
            key: `${at}.region`,
            text: `"${region}" does not look like a region of Amazon S3`,
            fix: 'Write one such as "eu-central-1", or the endpoint of the service that has it.',
          },
        ];
  const { hostname, pathname } = new URL(endpoint);
  const first = pathname.split('/')[1];
  return hostname.startsWith(`${String(bucket)}.`) || first === bucket
    ? [
        {
          key: `${at}.endpoint`,
          text: `holds the name of the bucket, which is added to it once more`,
          fix: 'Write the address of the service alone: "https://s3.example.com".',
        },
      ]
    : [];
};

/** Longest that a store may keep silent, before it looks like milliseconds. */
const MOST_SECONDS = 3600;
const TIMEOUTS = ['timeout', 'connectTimeout', 'readTimeout'];

const timeoutRisks = (key: string, adapter: string, options: PlainObject): readonly SettingRisk[] =>
  TIMEOUTS.flatMap((name) => {
    const seconds = options[name];
    return typeof seconds !== 'number' || seconds < MOST_SECONDS
      ? []
      : [
          {
            key: `sources.${key}.${adapter}.${name}`,
            text: `is in seconds: a store that is silent is waited for ${String(Math.round(seconds / 60))} minutes`,
            fix: 'Write seconds, not milliseconds: 30.',
          },
        ];
  });

const unusedOptionsRisks = ({ key, storageAdapter, unusedOptions }: SourceConfig): readonly SettingRisk[] =>
  unusedOptions.map((name) => ({
    key: `sources.${key}.${name}`,
    text: `has no effect: the files of this source are in its storageAdapter "${storageAdapter}"`,
    fix: `Write "storageAdapter": "${name}", or remove it.`,
  }));

/** What is risky about where single sources lie. Looks at local roots. */
export const sourceRisks = (source: SourceConfig): readonly SettingRisk[] => {
  const { key, storageAdapter, adapterOptions } = source;
  const options = isPlainObject(adapterOptions) ? adapterOptions : {};
  return [
    ...rootRisks(source),
    ...unusedOptionsRisks(source),
    ...(storageAdapter === 's3' ? s3Risks(key, options) : []),
    ...timeoutRisks(key, storageAdapter, options),
  ];
};
