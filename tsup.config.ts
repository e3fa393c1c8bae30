import { readFile } from 'node:fs/promises'
import { defineConfig, type Options } from 'tsup'
import ts from 'typescript'
import { buildCommandLine } from './.config/build-command-line.js'
import { ENTRIES } from './.config/entries.js'
import { mergeChunks } from './.config/merge-chunks.js'
import { buildSharedPage, sharedPage } from './.config/shared-page.js'

type Plugin = NonNullable<Options['esbuildPlugins']>[number]

/**
 * Marks what makes the constants of a module as pure, so that bundlers drop what a user does not import.
 *
 * The package has no side effects, but bundlers see that only of functions in the same file, and the build decides which
 * those are. Without the marks, a schema that is not imported stays in the user's bundle.
 */
const pureConstants: Plugin = {
  name: 'pure-constants',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const file = ts.createSourceFile(path, await readFile(path, 'utf8'), ts.ScriptTarget.Latest)
      const inserts = file.statements.filter(ts.isVariableStatement).flatMap((each) => marksOf(each, file))
      let contents = file.text
      for (const [at, text] of inserts.sort(([a], [b]) => b - a))
        contents = contents.slice(0, at) + text + contents.slice(at)
      return { contents, loader: 'ts' }
    })
  },
}

/** Marks the calls that esbuild's CommonJS wrappers make at load time as pure, for the same reason. */
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

type Insert = readonly [at: number, text: string]

/** Marks for the calls that run at load time to make the constants of `statement`, and for what bundlers take for a call. */
function marksOf(statement: ts.VariableStatement, file: ts.SourceFile): Insert[] {
  return statement.declarationList.declarations.flatMap(({ initializer }): Insert[] => {
    if (initializer === undefined) return []
    const nodes = nodesAtLoadTime(initializer)
    const calls = nodes.filter((node) => ts.isCallExpression(node) || ts.isNewExpression(node))
    const marks = calls.map((node): Insert => [node.getStart(file), PURE])
    if (!nodes.some(isMaybeCall)) return marks
    return [[initializer.getStart(file), `${PURE}(() => (`], ...marks, [initializer.end, '))()']]
  })
}

/** The nodes of the expression that run at load time. What is called goes with the call. */
function nodesAtLoadTime(node: ts.Node): ts.Node[] {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return []
  const isCall = ts.isCallExpression(node) || ts.isNewExpression(node)
  const children: ts.Node[] = []
  if (isCall) children.push(...(node.arguments ?? []))
  else ts.forEachChild(node, (child) => void children.push(child))
  return [node, ...children.flatMap(nodesAtLoadTime)]
}

const PURE = '/* @__PURE__ */ '

/** Reading a property, or a text or the members of a value, calls code if a getter, `toString` or an iterator is there. */
function isMaybeCall(node: ts.Node): boolean {
  return (
    ts.isPropertyAccessExpression(node) ||
    ts.isElementAccessExpression(node) ||
    ts.isSpreadElement(node) ||
    ts.isSpreadAssignment(node) ||
    ts.isComputedPropertyName(node) ||
    ts.isTemplateSpan(node)
  )
}

const DECLARATIONS = '.cache/declarations'

function entriesIn(folder: string, extension: string): Record<string, string> {
  return Object.fromEntries(ENTRIES.map((name) => [name, `${folder}/${name}${extension}`]))
}

export default defineConfig(({ outDir = 'dist', dts }) => ({
  entry: entriesIn('src', '.ts'),
  // `mergeChunks` makes the CommonJS modules from the ES modules. Only the declarations of both come from here.
  format: dts === false ? ['esm'] : ['esm', 'cjs'],
  platform: 'neutral',
  target: 'es2022',
  splitting: true,
  clean: true,
  // Some Workers know Node's modules by no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
  // eventemitter3 is CommonJS: importing it starts Node's other loader, 7 of 17 ms. It stays a dependency for its types.
  // zod is many files, most of them languages: importing it loads all for the few that schemas use. It stays one, too.
  // The others are small, and one of them CommonJS.
  noExternal: ['uuid', 'eventemitter3', 'zod', 'eventsource-parser', 'ipaddr.js'],
  esbuildPlugins: [pureConstants, sharedPage],
  plugins: [pureCommonJs],
  // From the declarations that `tsc` has written, one for each source: to make these here takes five times as long. tsup sets
  // `baseUrl`, which TypeScript 6 has deprecated.
  dts: { entry: entriesIn(DECLARATIONS, '.d.ts'), compilerOptions: { ignoreDeprecations: '6.0' } },
  metafile: true,
  async onSuccess() {
    await mergeChunks(outDir, ENTRIES)
    await buildSharedPage(outDir)
    await buildCommandLine(outDir)
  },
}))
