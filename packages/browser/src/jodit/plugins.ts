/** Plugins that the full editor has and `import 'jodit'` of a bundler leaves out. */
const wanted = ['file', 'image-properties', 'resizer', 'fullsize'];

interface WithPlugins {
  readonly plugins?: { get(name: string): unknown };
}

/** Classes of Jodit that were found without plugins: one warning is enough for a page with many editors. */
const warned = new WeakSet<object>();

/**
 * Says once what is to be imported: with a bundler, `import 'jodit'` (4.15.13) is the editor with its basic
 * plugins, in which pictures cannot be edited and files not inserted, and people look for the fault here.
 */
export const warnOfMissingPlugins = (editor: object): void => {
  const Jodit = editor.constructor as WithPlugins;
  const missing = wanted.filter((name) => Jodit.plugins?.get(name) === undefined);
  if (Jodit.plugins === undefined || missing.length === 0 || warned.has(Jodit)) return;
  warned.add(Jodit);
  // eslint-disable-next-line no-console -- a page has no other log
  console.warn(
    `stowage/jodit: Jodit lacks plugins (${missing.join(', ')}), without which parts of the file browser have ` +
      "no button. Import them beside the editor: import 'jodit/esm/plugins/all.js';",
  );
};
