import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Schemas that say of one thing what the other says of another: one of an alternative, of a list, of a record. */
const partsOf = (schema, whole) => {
  if (typeof schema !== 'object' || schema === null) return [];
  const meant = schema.$ref
    ?.split('/')
    .slice(1)
    .reduce((inner, key) => inner?.[key], whole);
  const parts = [
    meant,
    schema.items,
    schema.additionalProperties,
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ];
  return [schema, ...parts.flatMap((part) => partsOf(part, whole))];
};

const below = (schemas, key, whole) => schemas.flatMap(({ properties }) => partsOf(properties?.[key], whole));

const commentOf = (schemas) => {
  const text = schemas.find(({ description }) => description !== undefined)?.description;
  const value = schemas.find((schema) => 'default' in schema)?.default;
  const preset = value === undefined ? '' : JSON.stringify(value);
  const end = preset === '' || preset.length > 60 ? '' : ` Default: ${preset}`;
  return text === undefined ? undefined : `/** ${`${text}${end}`.replaceAll('*/', '* /')} */`;
};

/** The declaration of an object schema, with what `schemas` say of its keys above them. */
const document = (declaration, name, schemas, whole) => {
  const above = [{ indent: 0, schemas }];
  let isInside = false;
  return declaration
    .split('\n')
    .flatMap((line, index, lines) => {
      if (line.startsWith(`export declare const ${name}: `)) isInside = true;
      else if (/^\S/u.test(line)) isInside = false;
      const [, { length: indent } = '', key] = /^( +)(?:readonly )?(\w+): z\./u.exec(line) ?? [];
      // That of the build before.
      if (isInside && /^ +\/\*\*.*\*\/$/u.test(line) && /^ +\w+: z\./u.test(lines[index + 1] ?? ''))
        return [];
      if (!isInside || key === undefined) return [line];
      while ((above.at(-1)?.indent ?? 0) >= indent) above.pop();
      const own = below(above.at(-1)?.schemas ?? [], key, whole);
      above.push({ indent, schemas: own });
      const comment = commentOf(own);
      return comment === undefined ? [line] : [`${' '.repeat(indent)}${comment}`, line];
    })
    .join('\n');
};

/**
 * Puts what `config.schema.json` says of a setting, and of an option of a store, above its key in the declarations,
 * from where editors show it. The compiler knows types only.
 */
export const documentTypes = async (folder) => {
  const whole = JSON.parse(await readFile(join(folder, 'config.schema.json'), 'utf8'));
  const { settings, source } = whole.definitions;
  const rewrite = async (path, name, schema) => {
    const file = join(folder, 'dist', path);
    const declaration = await readFile(file, 'utf8');
    const documented = document(declaration, name, partsOf(schema, whole), whole);
    if (documented !== declaration) await writeFile(file, documented);
  };
  await rewrite('config/settings.d.ts', 'settingsSchema', settings);
  const stores = { objects: ['s3', 'azure', 'gcs'], remote: ['sftp', 'ftp', 'webdav'] };
  for (const [kind, names] of Object.entries(stores))
    for (const name of names)
      await rewrite(`adapters/${kind}/${name}/options.d.ts`, `${name}OptionsSchema`, source.properties[name]);
};
