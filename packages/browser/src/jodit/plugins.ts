/** Plugins of the full editor that `import 'jodit'` of a bundler lacks. */
const wanted = ['file', 'image-properties', 'resizer', 'fullsize'];

interface WithPlugins {
  readonly plugins?: { get(name: string): unknown };
}

/** Jodit classes without plugins that were reported: one warning suffices for a page with many editors. */
const warned = new WeakSet<object>();

/**
 * Warns once about missing plugins: with a bundler, `import 'jodit'` (4.15.13) is the editor with its basic
 * plugins, which can neither edit pictures nor insert files, and users would look for the cause in the
 * connector.
 */
export const warnOfMissingPlugins = (editor: object): void => {
  const Jodit = editor.constructor as WithPlugins;
  const missing = wanted.filter((name) => Jodit.plugins?.get(name) === undefined);
  if (Jodit.plugins === undefined || missing.length === 0 || warned.has(Jodit)) return;
  warned.add(Jodit);
  // oxlint-disable-next-line no-console -- a page has no other log
  console.warn(
    `stowage/jodit: Jodit lacks plugins (${missing.join(', ')}), without which parts of the file browser have ` +
      "no button. Import them beside the editor: import 'jodit/esm/plugins/all.js';",
  );
};
