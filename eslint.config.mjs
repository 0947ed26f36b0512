import tseslint from 'typescript-eslint';

const room = {
  'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
  complexity: ['error', 15],
};

const everywhere = {
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/consistent-type-imports': 'error',
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': 'error',
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  'no-restricted-exports': [
    'error',
    { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } },
  ],
  eqeqeq: 'error',
  'prefer-const': 'error',
};

const restrictedSyntax = [
  { selector: 'TSEnumDeclaration', message: 'Use a const table.' },
  { selector: 'Program > VariableDeclaration[kind="let"]', message: 'No module-level mutable state.' },
  {
    selector: 'ImportDeclaration[source.value="zod"] > ImportSpecifier',
    message: "Use `import * as z from 'zod'`: of the object `z`, the bundler can leave nothing out.",
  },
];

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      'packages/browser/src/generated/',
      'node_modules/',
      'coverage/',
      '.cache/',
      'demo/data/',
      'demo/public/',
      '**/*.mjs',
      '**/*.d.ts',
    ],
  },
  // Their packages are not installed here; test/start runs them where they are.
  { ignores: ['examples/start/nest/', 'examples/start/next/', 'examples/react/'] },
  {
    files: ['packages/*/src/**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './packages/*/tsconfig.json' } },
    rules: {
      ...everywhere,
      ...room,
      'no-console': 'error',
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': ['error', ...restrictedSyntax],
    },
  },
  {
    files: ['packages/stowage/src/actions/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...restrictedSyntax,
        {
          selector: 'CallExpression[callee.property.name="storage"]',
          message: 'Actions read by the view and change by carryOut.',
        },
      ],
    },
  },
  {
    files: ['packages/stowage/src/pictures/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...restrictedSyntax,
        {
          selector: 'CallExpression[callee.property.name="storage"]',
          message: 'Pictures read and keep derived files by derivedStoreOf.',
        },
      ],
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: [
      'packages/stowage/src/{config,cli}/**',
      'packages/stowage/src/basics/concurrency/thread-environment.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only config/ and cli/ read the environment.' },
      ],
    },
  },
  {
    files: [
      'test/**/*.ts',
      'tools/**/*.ts',
      'bench/**/*.ts',
      'demo/**/*.ts',
      'scripts/**/*.ts',
      'examples/**/*.ts',
      '*.ts',
    ],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './test/tsconfig.json' } },
    rules: {
      ...everywhere,
      'no-restricted-exports': 'off',
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^[./]+/dist/(?!internals\\.js$)',
              allowTypeImports: true,
              message:
                "Import 'stowage', or what packages/stowage/src/internals.ts names, from '#internals' (from tools by its path): modules are bundled.",
            },
          ],
        },
      ],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
