/** The kinds of bodies that carry parameters. */
export type BodyKind = 'json' | 'urlencoded' | 'multipart';

/** What a body is by its `Content-Type`; undefined: it carries no parameters. */
export const bodyKind = (contentType: string | undefined): BodyKind | undefined => {
  if (contentType === undefined) return undefined;
  const end = contentType.indexOf(';');
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return 'urlencoded';
  if (type === 'multipart/form-data') return 'multipart';
  return type === 'application/json' || /^application\/[^/]+\+json$/u.test(type) ? 'json' : undefined;
};

/** Whether a charset is named that is not UTF-8. */
export const hasForeignCharset = (contentType: string | undefined): boolean => {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/iu.exec(contentType ?? '')?.[1]?.toLowerCase();
  return charset !== undefined && !['utf-8', 'utf8', 'us-ascii'].includes(charset);
};
