/** Exports of the package: complete for both module systems, typed, named after their folders. */
import { existsSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import ts from 'typescript'
import { Consumer } from '../support/consumer.js'
import { ENTRIES, INDEXES, MANIFEST, read, ROOT } from '../support/repository.js'
import { entriesProgram, parse } from '../support/source.js'

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

const program = entriesProgram()
const checker = program.getTypeChecker()

describe('package.json', () => {
  it('exports each folder of src/ that has an index.ts, and no other', () => {
    const folders = INDEXES.map((file) => `/${file}`.slice(0, -'/index.ts'.length))
    expect([...ENTRIES].sort()).toEqual(folders.sort())
  })

  it.each(ENTRIES)('leads a2a-tasks%s to files of that name', (entry) => {
    const file = `./dist${entry}/index`
    expect(MANIFEST.exports[`.${entry}`]).toEqual({
      import: { types: `${file}.d.ts`, default: `${file}.js` },
      require: { types: `${file}.d.cts`, default: `${file}.cjs` },
    })
    const missing = ['.js', '.cjs'].filter((end) => !existsSync(`${ROOT}${file}${end}`))
    expect(missing).toEqual([])
  })

  it('exports itself', () => {
    expect(MANIFEST.exports['./package.json']).toBe('./package.json')
  })

  it('depends on eventemitter3, yaml and zod: uuid is built in', () => {
    expect(Object.keys(MANIFEST.dependencies)).toEqual(['eventemitter3', 'yaml', 'zod'])
  })
})

it('keeps the names of error classes, which Node prints for an uncaught error', async () => {
  const program = `import { A2AError } from 'a2a-tasks'
    import { createRequire } from 'node:module'
    console.log(A2AError.name, createRequire(import.meta.url)('a2a-tasks').A2AError.name)`
  expect(await consumer.run(consumer.write('errors.mjs', program))).toBe('A2AError A2AError\n')
})

describe.each(ENTRIES)('a2a-tasks%s', (entry) => {
  it('has the same names for `import` and `require`, those of its source', async () => {
    const specifier = `a2a-tasks${entry}`
    const program = `import * as imported from '${specifier}'
      import { createRequire } from 'node:module'
      const names = (module) => Object.keys(module).sort()
      const required = createRequire(import.meta.url)('${specifier}')
      console.log(JSON.stringify({ imported: names(imported), required: names(required) }))`
    const names = values(entry).map((symbol) => symbol.name)
    const printed: unknown = JSON.parse(await consumer.run(consumer.write('names.mjs', program)))
    expect(printed).toEqual({ imported: names.sort(), required: names.sort() })
  })

  it('says of each value, in a sentence, what it is', () => {
    const silent = values(entry).filter((symbol) => {
      const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
      return !/^\S[^]*?[.:…]($|\s)/.test(text)
    })
    expect(silent.map((symbol) => symbol.name)).toEqual([])
  })

  it('names what it exports, one by one', () => {
    const stars = parse(read(`src${entry}/index.ts`)).statements.filter(
      (node) =>
        ts.isExportDeclaration(node) &&
        (node.exportClause === undefined || ts.isNamespaceExport(node.exportClause)),
    )
    expect(stars.map((node) => node.getText())).toEqual([])
  })
})

/** What is left of the entry's exports when types are gone. */
function values(entry: string): ts.Symbol[] {
  const file = program.getSourceFile(`${ROOT}src${entry}/index.ts`)
  const module = file && checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`src${entry}/index.ts exports nothing`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter((symbol) => symbol.flags & ts.SymbolFlags.Value)
}
