/**
 * What the pages say is so: a block marked ` ```ts run ` or ` ```js run ` is type-checked, run against the built
 * package, and prints what the ` ```text ` block right after it says; links lead somewhere.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { afterAll, describe, expect, it } from 'vitest'
import ts from 'typescript'
import { Consumer } from '../support/consumer.js'
import { anchorsOf, isPrinted, linksOf, programsOf, type Program } from '../support/markdown.js'
import { FILES, read, ROOT } from '../support/repository.js'

const PAGES = FILES.filter((file) => file.endsWith('.md'))
const PROGRAMS = PAGES.flatMap((page) => programsOf(page, read(page)))

const consumer = new Consumer()
afterAll(() => {
  consumer.remove()
})

describe('the README', () => {
  it('has a program that runs as pasted, in its first screenful', () => {
    const [first] = PROGRAMS.filter(({ at }) => at.startsWith('README.md:'))
    expect(Number(first?.at.split(':')[1])).toBeLessThanOrEqual(30)
  })
})

describe.each(PROGRAMS)('the program at $at', { timeout: 60_000 }, (program) => {
  const file = consumer.write(`${program.at.replace(/\W/g, '-')}.${program.language}`, program.code)

  it('has right types', () => {
    expect(typeErrors(file)).toEqual([])
  })

  it('runs, and prints what it says', async () => {
    expectOutput(await consumer.run(file), program)
  })
})

describe.each(PAGES)('%s', (page) => {
  it('links to what is there', () => {
    const dead = linksOf(read(page)).filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    expect(dead).toEqual([])
  })
})

describe('a page that is wrong is found', () => {
  const page = '# One\n```ts run\nconsole.log(1 + 1)\n```\n\n```text\n2\n```\n\n## One\n'

  it('by what its program prints', () => {
    const [program] = programsOf('page.md', page)
    expect(program).toMatchObject({ at: 'page.md:2', language: 'ts', output: '2' })
    expect(programsOf('page.md', page.replace('\n```text', 'So:\n```text'))).toMatchObject([
      { output: undefined },
    ])
    expect(isPrinted('2\n', '2')).toBe(true)
    expect(isPrinted('3\n', '2')).toBe(false)
    expect(isPrinted('2\n3\n', '2')).toBe(false)
    expect(isPrinted('task 7f3a done\n', 'task … done')).toBe(true)
  })

  it('by its types', () => {
    const bad = `import { TaskManager } from 'a2a-tasks'\nnew TaskManager({ maxTask: 1 })\n`
    expect(typeErrors(consumer.write('bad.ts', bad))).toEqual([expect.stringContaining('maxTask')])
  })

  it('by its links', () => {
    expect(linksOf('[a](b.md#c) `[x](y)` [d](https://e)\n[f]: g.md\n')).toEqual([
      'b.md#c',
      'https://e',
      'g.md',
    ])
    expect(anchorsOf(page)).toEqual(['one', 'one-1'])
    expect(anchorsOf('## `waitFor(id, { until })`: the *end*')).toEqual(['waitforid--until--the-end'])
    expect(leadsSomewhere('docs/page.md', '../src/nowhere.ts')).toBe(false)
    expect(leadsSomewhere('docs/page.md', '../src/index.ts')).toBe(true)
  })
})

function expectOutput(printed: string, { output }: Program): void {
  if (output !== undefined && !isPrinted(printed, output)) expect(printed).toBe(output)
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = decodeURIComponent(link).split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(ROOT + target)) return false
  return anchor === undefined || !target.endsWith('.md') || anchorsOf(read(target)).includes(anchor)
}

function typeErrors(file: string): string[] {
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    allowJs: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    typeRoots: [`${ROOT}node_modules/@types`],
    types: ['node'],
  })
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
