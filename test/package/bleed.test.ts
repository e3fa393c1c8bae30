/** The core runs anywhere and brings nothing along: nothing that `import 'a2a-tasks'` reaches has these names. */
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { read } from '../support/repository.js'

const FORBIDDEN = [
  /\bnode:/g,
  /\bzod\b/gi,
  /\bjose\b/gi,
  /\bprocess\b\s*[.[]/g,
  // Outputs of steps may be a `Buffer`: it is read from `globalThis`, where there is one, and named in its tag.
  /(?<!globalThis\.|\$)\bBuffer\b/g,
  /\bconsole\b/g,
  // Files of the package itself may be loaded on demand.
  /\bimport\s*\((?!"\.\/)/g,
]
const REQUIRE = /\brequire\b/g

describe.each([
  { system: 'import', code: `export * from 'a2a-tasks'`, forbidden: [...FORBIDDEN, REQUIRE] },
  { system: 'require', code: `module.exports = require('a2a-tasks')`, forbidden: FORBIDDEN },
])('what `$system` loads', async ({ system, code, forbidden }) => {
  const { files } = await bundle(code)

  it('is the package, and eventemitter3', () => {
    expect(files).toContain(system === 'import' ? 'dist/index.js' : 'dist/index.cjs')
    const others = files.filter((file) => !/^(dist|node_modules\/eventemitter3)\//.test(file))
    expect(others).toEqual([])
  })

  it.each(files)('%s loads nothing else', async (file) => {
    expect(await bleeds(read(file), forbidden)).toEqual([])
  })
})

describe('a bleed is found', () => {
  it.each([
    ['import "node:fs"', 'node:'],
    ['export * from "zod"', 'zod'],
    ['const pid = process.pid', 'process.'],
    ['const bytes = Buffer.from("")', 'Buffer'],
    ['const lazy = import("x")', 'import('],
    ['const fs = require("fs")', 'require'],
  ])('%s', async (code, name) => {
    expect(await bleeds(code, [...FORBIDDEN, REQUIRE])).toEqual([expect.stringContaining(`${name} in `)])
  })

  it('but not in a comment, or in a longer name', async () => {
    const code = '/* node:fs, zod */ const buffers = ArrayBuffer // process.env\nconst a = b.processed'
    expect(await bleeds(code, FORBIDDEN)).toEqual([])
  })

  it('and not in the files that the package loads itself', async () => {
    expect(await bleeds('const later = import("./later.js")', FORBIDDEN)).toEqual([])
  })
})

/** Each forbidden name with the code around it. Comments are gone before: they may say what they like. */
async function bleeds(code: string, forbidden: readonly RegExp[]): Promise<string[]> {
  const { code: bare } = await transform(code, { minifyWhitespace: true, legalComments: 'none' })
  return forbidden.flatMap((name) =>
    [...bare.matchAll(name)].map(
      (match) => `${match[0]} in ${bare.slice(Math.max(0, match.index - 40), match.index + 40)}`,
    ),
  )
}
