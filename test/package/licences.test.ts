/** The licences of all that the package contains: the bundles name the libraries, and LICENSE names their terms. */
import { readdirSync } from 'node:fs'
import { build, type BuildOptions } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { ENTRIES } from '../../.config/entries.js'
import config from '../../tsup.config.js'
import { read, ROOT } from '../support/repository.js'

interface Manifest {
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(read(`${folder}package.json`)) as Manifest

/** The packages whose files a bundle of these sources has. */
async function librariesIn(sources: readonly string[], options: BuildOptions): Promise<string[]> {
  const { metafile } = await build({
    ...{ absWorkingDir: ROOT, entryPoints: [...sources], outdir: 'out', bundle: true, splitting: true },
    ...{ format: 'esm', platform: 'neutral', mainFields: ['module', 'main'], target: 'es2022' },
    ...{ write: false, metafile: true, logLevel: 'error' },
    ...options,
  })
  const files = Object.values(metafile?.outputs ?? {}).flatMap(({ inputs }) => Object.keys(inputs))
  return files.flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [])
}

/** Packages that tsup leaves to the user's install. */
function externals(): string[] {
  const { dependencies = {}, peerDependencies = {} } = manifestOf('')
  const options = typeof config === 'function' ? config({ dts: false }) : config
  const { noExternal = [] } = options as { noExternal?: readonly (string | RegExp)[] }
  return Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !noExternal.includes(name))
}

async function allLibraries(): Promise<string[]> {
  const entries = ENTRIES.map((name) => `src/${name}.ts`)
  const outside = externals().flatMap((name) => [name, `${name}/*`])
  const parts = await Promise.all([
    librariesIn(entries, { external: ['node:*', ...outside] }),
    librariesIn(['src/inspector/page/main.ts', 'src/inspector/page/style.css'], { platform: 'browser' }),
    librariesIn(['src/command-line/main.ts', 'src/command-line/dev/server.ts'], {
      ...{ platform: 'node', packages: 'external' },
    }),
  ])
  return [...new Set(parts.flat())].sort()
}

/** The text of a package's licence, and its lines about its authors. */
function licenceOf(name: string): { readonly text: string; readonly authors: readonly string[] } {
  const folder = `node_modules/${name}/`
  const file = readdirSync(ROOT + folder).find((each) => /^licen[cs]e/i.test(each)) ?? ''
  const text = read(folder + file)
  const lines = text.split('\n').map((line) => line.trim())
  return { text, authors: lines.filter((line) => /^copyright (\(c\)|©|\d)/i.test(line)) }
}

const words = (text: string): string => text.replace(/\s+/g, ' ').trim()

const LICENCE = words(read('LICENSE'))
const libraries = await allLibraries()

describe('LICENSE', () => {
  it('names what the bundles contain, and nothing else', () => {
    const named = [...read('LICENSE').matchAll(/^- (\S+) \((.+)\): /gm)].map(([, name, licence]) => [
      name,
      licence,
    ])
    const bundled = libraries.map((name) => [name, manifestOf(`node_modules/${name}/`).license])
    expect(bundled.length).toBeGreaterThan(4)
    expect(named.sort()).toEqual(bundled)
  })

  it.each(libraries)('has the terms of %s, and names its authors', (name) => {
    const { text, authors } = licenceOf(name)
    for (const line of authors) expect(LICENCE).toContain(words(line.replace(/ <.*>$/, '')))
    // The text of MIT is the same for all.
    const terms = text.slice(text.search(/Permission is hereby granted|Apache License/i))
    expect(words(LICENCE)).toContain(words(terms).replace(/[“”]/g, '"'))
  })
})

it('the licence of the manifest is that of LICENSE, which the README names', () => {
  expect(read('LICENSE')).toMatch(/^MIT License\n/)
  expect(manifestOf('').license).toBe('MIT')
  expect(read('README.md')).toMatch(/\nMIT licence\b/)
})
