import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import ts from 'typescript'

type Plugin = NonNullable<Options['esbuildPlugins']>[number]

/**
 * What bundlers need to take no more than they want, in dist/ as in src/.
 *
 * The package is free of side effects: so is what makes the constants of its modules. Each of these calls is marked as
 * pure, so that a schema that nobody imports vanishes from the bundle of whoever imports another. Bundlers see that by
 * themselves only of functions that are in the same file, and in dist/ it is not for us to say which are.
 *
 * What a file imports from the index.ts of a folder it imports from the file that has it: to esbuild, who enters by an
 * index reaches all that it leads to, and then a client comes in one chunk with servers, and loads zod.
 */
const forBundlers: Plugin = {
  name: 'for-bundlers',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const file = await parse(path)
      const edits = [...(await directImports(file))]
      if (/[\\/]src[\\/](schemas|wire|client|agent-card)[\\/]/.test(path)) {
        edits.push(...constantCalls(file).map((at) => ({ at, end: at, text: '/* @__PURE__ */ ' })))
      }
      edits.sort((a, b) => b.at - a.at)
      let contents = file.text
      for (const { at, end, text } of edits) contents = contents.slice(0, at) + text + contents.slice(end)
      return { contents, loader: 'ts' }
    })
  },
}

/** Nor has what a module of CommonJS is made of: bundlers see that no better. */
const pureCommonJs: NonNullable<Options['plugins']>[number] = {
  name: 'pure-commonjs',
  renderChunk(code, { map = null }) {
    const marked = code.replace(
      /(?<=^var \w+ = )__(?:commonJS|toESM)\((?:require_\w+\(\))?/gm,
      (call) => `/* @__PURE__ */ ${call.replace('require_', '/* @__PURE__ */ require_')}`,
    )
    return { code: marked, map }
  },
}

interface Edit {
  readonly at: number
  readonly end: number
  readonly text: string
}

async function parse(path: string): Promise<ts.SourceFile> {
  return ts.createSourceFile(path, await readFile(path, 'utf8'), ts.ScriptTarget.Latest)
}

/** Where the calls begin that are made when the module is loaded, for one of its constants. */
function constantCalls(file: ts.SourceFile): number[] {
  const starts = new Set<number>()
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) starts.add(node.getStart(file))
    ts.forEachChild(node, visit)
  }
  file.statements.filter(ts.isVariableStatement).forEach(visit)
  return [...starts]
}

async function directImports(file: ts.SourceFile): Promise<Edit[]> {
  const edits: Edit[] = []
  for (const node of file.statements) {
    if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) continue
    const { phaseModifier, namedBindings: names } = node.importClause ?? {}
    if (!/^\..*\/index\.js$/.test(node.moduleSpecifier.text) || !names || !ts.isNamedImports(names)) continue
    const index = join(dirname(file.fileName), node.moduleSpecifier.text)
    const values = names.elements.filter(
      ({ isTypeOnly }) => !isTypeOnly && phaseModifier !== ts.SyntaxKind.TypeKeyword,
    )
    const lines = values.map(async ({ name, propertyName }) => {
      const [from, exported] = await origin(index, (propertyName ?? name).text)
      return `import { ${exported} as ${name.text} } from ${JSON.stringify(from)};`
    })
    edits.push({ at: node.getStart(file), end: node.end, text: (await Promise.all(lines)).join(' ') })
  }
  return edits
}

/** The file that has what `index` exports as `name`, and what it is called there. */
async function origin(index: string, name: string): Promise<readonly [file: string, name: string]> {
  const source = index.replace(/\.js$/, '.ts')
  for (const node of (await parse(source)).statements) {
    if (!ts.isExportDeclaration(node) || !node.exportClause || !ts.isNamedExports(node.exportClause)) continue
    const found = node.exportClause.elements.find((each) => each.name.text === name)
    if (!found || !node.moduleSpecifier || !ts.isStringLiteral(node.moduleSpecifier)) continue
    const from = join(dirname(index), node.moduleSpecifier.text)
    const exported = (found.propertyName ?? found.name).text
    return from.endsWith('/index.js')
      ? await origin(from, exported)
      : [from.replace(/\.js$/, '.ts'), exported]
  }
  return [source, name]
}

export default defineConfig({
  // Import specifier = folder: a2a-tasks/server/node is src/server/node/index.ts.
  entry: Object.fromEntries(
    [
      '',
      'schemas/',
      'wire/',
      'agent-card/',
      'client/',
      'server/',
      'server/node/',
      'durable/',
      'stores/sqlite/',
      'stores/postgres/',
      'stores/redis/',
      'gateway/',
      'telemetry/',
      'testing/',
    ].map((folder) => [`${folder}index`, `src/${folder}index.ts`]),
  ),
  format: ['esm', 'cjs'],
  platform: 'neutral',
  target: 'es2022',
  splitting: true,
  treeshake: true,
  sourcemap: true,
  clean: true,
  // Some Workers know Node's modules by no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
  // uuid is published as ESM only, which `require` cannot load before Node 20.19.
  // eventemitter3 is CommonJS: importing it starts Node's other loader, 7 of 17 ms. It stays a dependency for its types.
  // zod is many files, most of them languages: importing it loads all for the few that schemas use. It stays one, too.
  // The others are small, and one of them CommonJS.
  noExternal: ['uuid', 'eventemitter3', 'zod', 'eventsource-parser', 'ipaddr.js'],
  esbuildPlugins: [forBundlers],
  plugins: [pureCommonJs],
  // tsup sets `baseUrl`, which TypeScript 6 has deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
})
