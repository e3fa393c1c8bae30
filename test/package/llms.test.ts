/** The page for coding agents: it is short, and names what the package has. `docs.test.ts` compiles and runs its recipes. */
import { expect, test } from 'vitest'
import { ENTRIES, MANIFEST, read } from '../support/repository.js'

const PAGE = read('docs/llms.txt')
const MAX_BYTES = 8_000

/** The names of the list of entries: `` `a2a-tasks/server`: `createRequestHandler` ``, more than one entry on a line. */
function listed(page: string): (readonly [entry: string, names: readonly string[]])[] {
  const [, list = ''] = /^## Entries\n([^]*?)^## /m.exec(page) ?? []
  return list.split(/(?=`a2a-tasks[\w/-]*`)/).flatMap((text) => {
    const [, entry, more = ''] = /^`(a2a-tasks[\w/-]*)`([^]*)/.exec(text) ?? []
    // Types are named after a semicolon.
    const names = [...(more.split(';')[0] ?? '').matchAll(/`(\w+)(?:\(.*?\))?`/g)].map(
      ([, name = '']) => name,
    )
    return entry === undefined ? [] : [[entry, names.filter((name) => name !== 'ai')] as const]
  })
}

/** The names of values that its programs import from this package. */
function imported(page: string): (readonly [entry: string, names: readonly string[]])[] {
  return [...page.matchAll(/^import \{ (.*) \} from '(a2a-tasks[^']*)'$/gm)].map(
    ([, names = '', entry = '']) => [entry, names.split(', ').filter((name) => !name.startsWith('type '))],
  )
}

async function missing(found: ReturnType<typeof listed>): Promise<string[]> {
  const lacking = found.map(async ([entry, names]) => {
    if (!ENTRIES.includes(entry.slice('a2a-tasks'.length))) return [entry]
    const module = (await import(/* @vite-ignore */ entry)) as object
    return names.filter((name) => !(name in module)).map((name) => `${entry}: ${name}`)
  })
  return (await Promise.all(lacking)).flat()
}

test(`has at most ${MAX_BYTES} bytes, and is in the package`, () => {
  expect(Buffer.byteLength(PAGE)).toBeLessThanOrEqual(MAX_BYTES)
  expect(MANIFEST.files).toContain('docs')
})

test('names entries and functions that exist', async () => {
  expect(listed(PAGE).length).toBeGreaterThan(10)
  expect(imported(PAGE).length).toBeGreaterThan(8)
  expect(await missing([...listed(PAGE), ...imported(PAGE)])).toEqual([])
})

test('an entry and a name that are wrong are found', async () => {
  const page =
    '## Entries\n- `a2a-tasks/nowhere`: `x`\n- `a2a-tasks/server`: `createServer(x)`; the type `Run`\n## More\n'
  expect(await missing(listed(page))).toEqual(['a2a-tasks/nowhere', 'a2a-tasks/server: createServer'])
  expect(await missing(imported("import { nothing, type T } from 'a2a-tasks'\n"))).toEqual([
    'a2a-tasks: nothing',
  ])
})
