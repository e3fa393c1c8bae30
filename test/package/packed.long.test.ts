/** What npm delivers: a package of a bounded size whose documentation links to files that come with it. */
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path/posix'
import { expect, it } from 'vitest'
import { linksOf } from '../support/markdown.js'
import { read, ROOT } from '../support/repository.js'

/** Well above what it has: this finds a second copy, a map or a picture, not a feature. */
const MAX_BYTES = 8_000_000

interface Packed {
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
  cwd: ROOT,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
})
const [packed] = JSON.parse(answer) as [Packed]
const paths = packed.files.map(({ path }) => path)

it(`has at most ${MAX_BYTES} bytes`, () => {
  expect(paths).toContain('dist/index.d.cts')
  expect(packed.unpackedSize).toBeLessThanOrEqual(MAX_BYTES)
})

it.each(paths.filter((path) => path.endsWith('.md')))('%s links to files of the package', (page) => {
  const targets = linksOf(read(page))
    .filter((link) => !/^[a-z]+:|^#/.test(link))
    .map((link) => join(dirname(page), decodeURIComponent(link.split('#')[0] ?? '')))
  const missing = targets.filter(
    (target) => !paths.some((path) => `${path}/`.startsWith(`${target}/`.replace(/\/+$/, '/'))),
  )
  expect(missing).toEqual([])
})
