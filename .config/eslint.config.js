import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['.config/**', 'dist/**', '.cache/**', 'node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './.config/tsconfig.page.json'],
        tsconfigRootDir: `${import.meta.dirname}/..`,
      },
    },
    rules: {
      // Advice: a file is as long as its idea.
      'max-lines-per-function': ['warn', 60],
      'max-lines': ['warn', 400],
      complexity: ['error', 15],
      'no-console': 'error',
      // Declarations name an interface, and repeat what any other type stands for.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Modules of NestJS are empty classes with a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // Lines like `(record) => this.#remove(record)` return nothing because what they call returns nothing.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    },
  },
  {
    // Users pass one signal to many calls, and Node warns of more than ten listeners. The page of the inspector
    // and the command line have signals of their own.
    files: ['src/**'],
    ignores: ['src/runtime/abort.ts', 'src/inspector/page/**', 'src/command-line/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'CallExpression[callee.property.name="addEventListener"][arguments.0.value="abort"]',
          message: 'Use onAbort() of src/runtime/abort.ts: a signal has one listener.',
        },
      ],
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    ...tseslint.configs.disableTypeChecked,
  },
  {
    // Each is one decision whose parts make sense only together and in this order.
    files: [
      'src/client/connection/connection.ts',
      'src/server/schedule/follow-up.ts',
      'src/server/schedule/lease-scheduler.ts',
    ],
    rules: { complexity: ['error', 20] },
  },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  {
    files: ['test/**', 'examples/**'],
    rules: {
      'no-console': 'off',
      // A describe block is a chapter, not a function.
      'max-lines-per-function': 'off',
      'max-lines': 'off',
      // A random history chooses among many steps in one place.
      complexity: ['error', 20],
    },
  },
)
