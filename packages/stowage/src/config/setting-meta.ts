import * as z from 'zod';

/** What the reference page and the JSON schema say of a setting, besides its type and default. */
export interface SettingMeta {
  /** One sentence for the reference page. */
  readonly meaning: string;
  /**
   * `global`: read before a source is known, an override by a source has no effect. `source`: a source may
   * override it.
   */
  readonly scope: 'global' | 'source';
  /** Accepted for compatibility, without any effect. */
  readonly unused?: true;
  /** The default as the page shows it, when it is not a JSON value. */
  readonly shownDefault?: string;
}

/** The metadata of every setting, found by its schema. */
export const settingMeta = z.registry<SettingMeta>();

/** A setting with what is said of it. */
export const setting = <Schema extends z.ZodType>(schema: Schema, meta: SettingMeta): Schema => {
  settingMeta.add(schema, meta);
  return schema;
};

/** A setting that a source may override. */
export const source = (meaning: string): SettingMeta => ({ meaning, scope: 'source' });
/** A setting that acts before a source is known. */
export const global = (meaning: string): SettingMeta => ({ meaning, scope: 'global' });
/** A setting that is accepted for compatibility. */
export const unused = (meaning: string, shownDefault?: string): SettingMeta => ({
  meaning: `Accepted, without effect: ${meaning}`,
  scope: 'source',
  unused: true,
  ...(shownDefault === undefined ? {} : { shownDefault }),
});
