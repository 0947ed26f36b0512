/** Rules of this project for oxlint, which knows them as `stowage/NAME`: what a selector matches is an error. */
const rejecting = (selector, message) => ({
  create: (context) => ({ [selector]: (node) => context.report({ node, message }) }),
});

const OPENS_STORAGE = 'CallExpression[callee.property.name="storage"]';

export default {
  meta: { name: 'stowage' },
  rules: {
    'no-enums': rejecting('TSEnumDeclaration', 'Use a const table.'),
    'no-module-state': rejecting(
      ':matches(Program, ExportNamedDeclaration) > VariableDeclaration[kind="let"]',
      'No module-level mutable state.',
    ),
    'zod-as-namespace': rejecting(
      'ImportDeclaration[source.value="zod"] > ImportSpecifier',
      "Use `import * as z from 'zod'`: of the object `z`, the bundler can leave nothing out.",
    ),
    'actions-use-view': rejecting(OPENS_STORAGE, 'Actions read by the view and change by carryOut.'),
    'pictures-use-derived-store': rejecting(
      OPENS_STORAGE,
      'Pictures read and keep derived files by derivedStoreOf.',
    ),
  },
};
